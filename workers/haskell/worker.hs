{-# LANGUAGE BangPatterns, CPP, ForeignFunctionInterface #-}
-- | Methods in Haskell, with nothing but base and bytestring: `worker reading METHOD` speaks the line protocol,
-- `worker copying METHOD [SIZE]` copies standard input to standard output, and writes what it has allocated to the file
-- that BYTELAB_COUNTS names. Built with -DWITH_HTTP_CLIENT, it also reads a URL by the package http-client.
module Main (main) where

import Control.Concurrent (forkIO, newEmptyMVar, putMVar, setNumCapabilities, takeMVar)
import Control.Exception (IOException, evaluate, throwIO, try)
#ifdef WITH_HTTP_CLIENT
import Control.Exception (catch)
#endif
import Control.Monad (foldM, forM, unless)
import qualified Data.ByteString as Strict
import qualified Data.ByteString.Char8 as Char8
import qualified Data.ByteString.Lazy as Lazy
import Data.Char (chr, digitToInt, isAscii, isHexDigit, isPrint, ord)
import Data.Int (Int32, Int64)
import Data.List (foldl')
import Data.Maybe (fromJust, fromMaybe, isJust)
import Data.Word (Word64, Word8)
import Foreign (Ptr, allocaBytes, mallocBytes, peekByteOff)
import Foreign.C.Types (CInt (..))
import GHC.Clock (getMonotonicTimeNSec)
import GHC.IO.Encoding (setFileSystemEncoding)
import GHC.Stats (allocated_bytes, getRTSStats)
#ifdef WITH_HTTP_CLIENT
import qualified Network.HTTP.Client as Http
#endif
import Numeric (showHex)
import System.Environment (getArgs, lookupEnv)
import System.Exit (die)
import System.IO
import System.Mem (getAllocationCounter, performGC)

-- | How many bytes a method has read, and their sum.
data Tally = Tally !Int !Word64

instance Semigroup Tally where
  Tally n total <> Tally more other = Tally (n + more) (total + other)

instance Monoid Tally where
  mempty = Tally 0 0

-- | Set up with the size of the buffer, then done for each file.
type Method = Int -> IO (FilePath -> IO Tally)

reading :: [(String, Method)]
reading =
  [ ("hgetbuf", hGetBufInto)
  , ("strict-hget", strictChunks)
  , ("strict-readfile", const (pure (fmap tally . Strict.readFile)))
  , ("lazy-fold", const (pure (`withBytes` lazyFold)))
  , ("lazy-chunks", const (pure (`withBytes` lazyChunks)))
  , ("lazy-unpack", const (pure (`withBytes` lazyUnpack)))
  , ("string", const (pure string))
#ifdef WITH_HTTP_CLIENT
  , ("http-client", const httpClient)
#endif
  ]

-- | The one best: a buffer that is used again, and a loop over it.
hGetBufInto :: Method
hGetBufInto size = do
  buffer <- mallocBytes size
  pure $ \path -> withBinaryFile path ReadMode $ \file ->
    let go !n !total = do
          got <- hGetBuf file buffer size
          if got == 0 then pure (Tally n total) else sumOf buffer got total >>= go (n + got)
    in go 0 0

sumOf :: Ptr Word8 -> Int -> Word64 -> IO Word64
sumOf buffer n = go 0
  where
    go i !total
      | i == n = pure total
      | otherwise = do
          byte <- peekByteOff buffer i :: IO Word8
          go (i + 1) (total + fromIntegral byte)

strictChunks :: Method
strictChunks size = pure $ \path -> withBinaryFile path ReadMode $ \file ->
  let go !before = do
        chunk <- Strict.hGet file size
        if Strict.null chunk then pure before else go (before <> tally chunk)
  in go mempty

tally :: Strict.ByteString -> Tally
tally chunk = Tally (Strict.length chunk) (Strict.foldl' add 0 chunk)

withBytes :: FilePath -> (Lazy.ByteString -> Tally) -> IO Tally
withBytes path fold = withBinaryFile path ReadMode $ \file -> Lazy.hGetContents file >>= evaluate . fold

lazyFold, lazyChunks, lazyUnpack :: Lazy.ByteString -> Tally
lazyFold = Lazy.foldl' count mempty
lazyChunks = Lazy.foldlChunks (\before chunk -> before <> tally chunk) mempty
lazyUnpack = foldl' count mempty . Lazy.unpack

string :: FilePath -> IO Tally
string path = withBinaryFile path ReadMode $ \file -> do
  text <- hGetContents file
  evaluate (foldl' (\before char -> count before (fromIntegral (ord char))) mempty text)

#ifdef WITH_HTTP_CLIENT
-- | Gets the URL in place of the path. The manager keeps its connection.
httpClient :: IO (FilePath -> IO Tally)
httpClient = do
  manager <- Http.newManager Http.defaultManagerSettings { Http.managerResponseTimeout = Http.responseTimeoutNone }
  pure $ \url -> do
    request <- Http.parseUrlThrow url
    let go body !before = do
          chunk <- Http.brRead body
          if Strict.null chunk then pure before else go body (before <> tally chunk)
        get = Http.withResponse request manager $ \response -> go (Http.responseBody response) mempty
    get `catch` \reason -> ioError (userError (show (reason :: Http.HttpException)))
#endif

count :: Tally -> Word8 -> Tally
count (Tally n total) byte = Tally (n + 1) (add total byte)

add :: Word64 -> Word8 -> Word64
add total byte = total + fromIntegral byte

copying :: [(String, Int -> IO ())]
copying =
  [ ("hgetbuf", copyBuffer)
  , ("strict-hget", copyStrict)
  , ("lazy-interact", const (Lazy.interact id))
  , ("hgetbuf-unbuffered", unbuffered copyBuffer)
  , ("strict-unbuffered", unbuffered copyStrict)
  , ("char8-unbuffered", unbuffered copyChar8)
  , ("lazy-unbuffered", unbuffered copyLazy)
  ]

-- | As the programs of 2007 began.
unbuffered :: (Int -> IO ()) -> Int -> IO ()
unbuffered copy size = mapM_ (`hSetBuffering` NoBuffering) [stdin, stdout] >> copy size

copyBuffer, copyStrict, copyChar8, copyLazy :: Int -> IO ()
copyBuffer size = mallocBytes size >>= go
  where
    go buffer = do
      got <- hGetBuf stdin buffer size
      unless (got == 0) $ hPutBuf stdout (buffer :: Ptr Word8) got >> go buffer
copyStrict size = do
  chunk <- Strict.hGet stdin size
  unless (Strict.null chunk) $ Strict.hPut stdout chunk >> copyStrict size
copyChar8 size = do
  chunk <- Char8.hGet stdin size
  unless (Char8.null chunk) $ Char8.hPut stdout chunk >> copyChar8 size
copyLazy size = do
  chunk <- Lazy.hGet stdin size
  unless (Lazy.null chunk) $ Lazy.hPut stdout chunk >> copyLazy size

main :: IO ()
main = do
  setFileSystemEncoding char8
  arguments <- getArgs
  case arguments of
    ["reading", name] | Just method <- lookup name reading -> do
      hSetEncoding stdin char8
      hSetBuffering stdout LineBuffering
      putStrLn ("hello 1 name=haskell-" ++ name ++ " lang=haskell")
      serve method Nothing
    "copying" : name : size | Just copy <- lookup name copying -> do
      mapM_ (`hSetBinaryMode` True) [stdin, stdout]
      before <- getAllocationCounter
      number "SIZE" (concat (take 1 (size ++ ["131072"]))) >>= copy
      after <- getAllocationCounter
      counts <- lookupEnv "BYTELAB_COUNTS"
      -- The counter counts down.
      mapM_ (`writeFile` ("allocated_bytes=" ++ show (before - after) ++ "\n")) counts
    _ -> die $ "use: worker reading METHOD, of " ++ names reading
      ++ " | worker copying METHOD [SIZE], of " ++ names copying
  where names list = unwords (map fst list)

-- | Reads each file.
type Job = [IO Tally]

-- | Answers orders until bye or the end of the input.
serve :: Method -> Maybe Job -> IO ()
serve method job = do
  ended <- isEOF
  order <- if ended then pure [] else words <$> getLine
  case (order, job) of
    ("prepare" : pairs, _) -> orFail (prepare method (map argument pairs)) >>= serve method
    ("go" : n : rest, Just ready) -> do
      _ <- orFail (number "ops" (fromMaybe "1" (lookup "ops" (map argument rest))) >>= sample ready n)
      serve method job
    ("go" : _, Nothing) -> putStrLn "fail go before prepare" >> serve method job
    _ -> pure ()

-- | What a file or the system refuses is an answer, too.
orFail :: IO a -> IO (Maybe a)
orFail action = try action >>= either failed (pure . Just)
  where failed :: IOException -> IO (Maybe a)
        failed reason = Nothing <$ putStrLn ("fail " ++ concatMap escaped (show reason))

prepare :: Method -> [(String, String)] -> IO Job
prepare method arguments = do
  size <- number "buffer" (fromMaybe "131072" (lookup "buffer" arguments))
  job <- forM (files ("file" : map (("file" ++) . show) [2 :: Int ..])) $ \path -> ($ path) <$> method size
  setNumCapabilities (max 1 (length job))
  if null job then ioError (userError "prepare names no file") else job <$ putStrLn "ready"
  where files = map fromJust . takeWhile isJust . map source
        -- A URL in place of the path, where there is one.
        source file = lookup ("url" ++ drop 4 file) arguments `orElse` lookup file arguments
        orElse one other = if isJust one then one else other

number :: String -> String -> IO Int
number name text = case reads text of
  [(n, "")] | n > 0 -> pure n
  _ -> ioError (userError (name ++ "=" ++ text ++ " is not a whole number above 0"))

-- | Several files are read by a thread each, which repeats its file.
run :: Job -> Int -> IO Tally
run [file] ops = repeated ops file
run files ops = do
  threads <- forM files $ \file -> do
    end <- newEmptyMVar
    _ <- forkIO (try (repeated ops file) >>= putMVar end)
    pure end
  results <- mapM takeMVar threads
  mconcat <$> mapM (either (throwIO :: IOException -> IO Tally) pure) results

repeated :: Int -> IO Tally -> IO Tally
repeated ops file = foldM (\_ _ -> file) mempty [1 .. ops]

foreign import ccall unsafe "getrusage" getrusage :: CInt -> Ptr Word8 -> IO CInt

-- | The user and the system time of this process until now, in ns. A `struct rusage` begins with them, each in seconds
-- of 64 bits and in microseconds, of which the low 32 bits are enough.
cpuTimes :: IO (Double, Double)
cpuTimes = allocaBytes 256 $ \usage -> do
  _ <- getrusage 0 usage
  user <- time usage 0
  system <- time usage 16
  pure (user, system)
  where
    time :: Ptr Word8 -> Int -> IO Double
    time usage offset = do
      seconds <- peekByteOff usage offset :: IO Int64
      micros <- peekByteOff usage (offset + 8) :: IO Int32
      pure (fromIntegral seconds * 1e9 + fromIntegral micros * 1e3)

-- | Between the two readings of the clock there is the job, and the reading of its CPU time: the runtime may collect the
-- garbage of the job while it reads that, and the CPU time of this is within the wall time only in this order. What the
-- runtime has allocated it knows after a collection only, which is not timed.
sample :: Job -> String -> Int -> IO ()
sample job n ops = do
  counting <- isJust <$> lookupEnv "BYTELAB_COUNTING"
  let allocated = if counting then performGC >> allocated_bytes <$> getRTSStats else pure 0
  allocatedBefore <- allocated
  start <- getMonotonicTimeNSec
  cpuBefore <- cpuTimes
  Tally size total <- run job ops
  cpuAfter <- cpuTimes
  end <- getMonotonicTimeNSec
  allocatedAfter <- allocated
  let perOperation = fromIntegral (allocatedAfter - allocatedBefore) / fromIntegral ops :: Double
      cpu part = (part cpuAfter - part cpuBefore) / fromIntegral ops :: Double
  putStrLn $ unwords $
    [ "done", n, "wall=" ++ show (end - start), "ops=" ++ show ops, "bytes=" ++ show (size * ops)
    , "answer=" ++ reverse (take 16 (reverse (showHex total "") ++ repeat '0')) ]
    ++ ["user_ns=" ++ show (cpu fst), "system_ns=" ++ show (cpu snd)]
    ++ ["allocated_bytes=" ++ show perOperation | counting]

-- | name=value, with the bytes that are written as %XX.
argument :: String -> (String, String)
argument word = (name, unescape (drop 1 value))
  where
    (name, value) = break (== '=') word
    unescape ('%' : high : low : rest)
      | isHexDigit high, isHexDigit low = chr (16 * digitToInt high + digitToInt low) : unescape rest
    unescape (char : rest) = char : unescape rest
    unescape [] = []

escaped :: Char -> String
escaped char
  | isAscii char && isPrint char && char /= '%' = [char]
  | otherwise = '%' : drop 1 (showHex (256 + ord char `mod` 256) "")
