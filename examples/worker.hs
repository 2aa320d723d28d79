-- A method of `reading` in Haskell: `ghc -O2 -outputdir o -o mine examples/worker.hs`, then `--worker mine=./mine`.
import qualified Data.ByteString as Strict
import qualified Data.ByteString.Lazy as Lazy
import GHC.Clock (getMonotonicTimeNSec)
import GHC.IO.Encoding (setFileSystemEncoding)
import System.IO
import Text.Printf (printf)

main = do
  setFileSystemEncoding char8 >> hSetBuffering stdout LineBuffering
  putStrLn "hello 1 name=mine lang=haskell" >> serve ""

serve :: FilePath -> IO ()
serve path = getLine >>= \line -> case words line of
  "prepare" : pairs -> putStrLn "ready" >> serve (unescape (concat [drop 5 p | p <- pairs, take 5 p == "file="]))
  "go" : n : _ -> do
    start <- getMonotonicTimeNSec
    let sum8 = Strict.foldl' (\total byte -> total + fromEnum byte)
        add (size, total) chunk = size `seq` total `seq` (size + Strict.length chunk, sum8 total chunk)
    (bytes, answer) <- foldl add (0, 0) . Lazy.toChunks <$> Lazy.readFile path
    end <- answer `seq` getMonotonicTimeNSec
    printf "done %s wall=%d bytes=%d answer=%016x\n" n (toInteger (end - start)) bytes answer >> serve path
  _ -> pure ()
  where unescape ('%' : a : b : rest) = toEnum (read ['0', 'x', a, b]) : unescape rest
        unescape text = take 1 text ++ if null text then "" else unescape (drop 1 text)
