// Methods in Java: `Worker reading METHOD` speaks the line protocol, `Worker copying` copies standard input to
// standard output.
import java.io.BufferedInputStream;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import javax.net.ssl.HttpsURLConnection;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

public final class Worker {
    /** A file, and what its reader uses again. */
    private static final class Reader {
        final Path path;
        /** What is read instead of the file, and who reads it; null if it is a file. */
        final URI url;
        final HttpClient client;
        final byte[] bytes;
        final ByteBuffer direct;
        long sum;
        long read;
        long allocated;
        IOException failed;

        Reader(String path, String url, int bufferLen) {
            this.path = Path.of(path);
            this.url = url == null ? null : URI.create(url);
            client = url == null ? null : HttpClient.newBuilder().sslContext(tls).build();
            bytes = new byte[bufferLen];
            direct = ByteBuffer.allocateDirect(bufferLen);
        }

        void add(byte[] chunk, int len) {
            long total = 0;
            for (int i = 0; i < len; i++) {
                total += chunk[i] & 0xff;
            }
            sum += total;
            read += len;
        }

        /** What lies between its position and its limit. */
        void add(ByteBuffer chunk) {
            long total = 0;
            int end = chunk.limit();
            for (int i = chunk.position(); i < end; i++) {
                total += chunk.get(i) & 0xff;
            }
            sum += total;
            read += chunk.remaining();
        }
    }

    private interface Method {
        void read(Reader reader) throws IOException;
    }

    /** So much is mapped at once: a buffer's places are ints. */
    private static final long WINDOW = 1L << 30;

    private static final Map<String, Method> METHODS = Map.of(
            "file-channel", Worker::byFileChannel,
            "file-input-stream", Worker::byFileInputStream,
            "buffered-input-stream", Worker::byBufferedInputStream,
            "mapped-byte-buffer", Worker::byMappedByteBuffer,
            "read-all-bytes", Worker::byReadAllBytes,
            "read-byte", Worker::byReadByte,
            "http-client", Worker::byHttpClient,
            "url-connection", Worker::byUrlConnection);

    private static void byFileChannel(Reader reader) throws IOException {
        try (FileChannel channel = FileChannel.open(reader.path)) {
            while (channel.read(reader.direct.clear()) >= 0) {
                reader.add(reader.direct.flip());
            }
        }
    }

    private static void byFileInputStream(Reader reader) throws IOException {
        try (InputStream file = new FileInputStream(reader.path.toFile())) {
            addAll(reader, file);
        }
    }

    private static void byBufferedInputStream(Reader reader) throws IOException {
        try (InputStream file = new BufferedInputStream(new FileInputStream(reader.path.toFile()))) {
            addAll(reader, file);
        }
    }

    private static void addAll(Reader reader, InputStream file) throws IOException {
        int n;
        while ((n = file.read(reader.bytes)) >= 0) {
            reader.add(reader.bytes, n);
        }
    }

    private static void byMappedByteBuffer(Reader reader) throws IOException {
        try (FileChannel channel = FileChannel.open(reader.path)) {
            long size = channel.size();
            for (long start = 0; start < size; start += WINDOW) {
                reader.add(channel.map(FileChannel.MapMode.READ_ONLY, start, Math.min(WINDOW, size - start)));
            }
        }
    }

    private static void byReadAllBytes(Reader reader) throws IOException {
        byte[] all = Files.readAllBytes(reader.path);
        reader.add(all, all.length);
    }

    private static void byReadByte(Reader reader) throws IOException {
        try (InputStream file = new BufferedInputStream(new FileInputStream(reader.path.toFile()))) {
            long total = 0;
            long read = 0;
            int b;
            while ((b = file.read()) >= 0) {
                total += b;
                read++;
            }
            reader.sum += total;
            reader.read += read;
        }
    }

    private static void byHttpClient(Reader reader) throws IOException {
        HttpRequest request = HttpRequest.newBuilder(reader.url).build();
        try {
            HttpResponse<InputStream> response = reader.client.send(request, HttpResponse.BodyHandlers.ofInputStream());
            try (InputStream body = response.body()) {
                ensureOk(reader, response.statusCode());
                addAll(reader, body);
            }
        } catch (InterruptedException error) {
            throw new IOException(error);
        }
    }

    private static void byUrlConnection(Reader reader) throws IOException {
        HttpURLConnection connection = (HttpURLConnection) reader.url.toURL().openConnection();
        if (connection instanceof HttpsURLConnection) {
            ((HttpsURLConnection) connection).setSSLSocketFactory(tls.getSocketFactory());
        }
        ensureOk(reader, connection.getResponseCode());
        try (InputStream body = connection.getInputStream()) {
            addAll(reader, body);
        }
    }

    private static void ensureOk(Reader reader, int status) throws IOException {
        if (status != HttpURLConnection.HTTP_OK) {
            throw new IOException(reader.url + " was answered with status " + status);
        }
    }

    /** Trusts the certificates of the point, if it has some. */
    private static SSLContext tls;

    private static SSLContext trusting(String certificates) throws IOException {
        try {
            return certificates == null ? SSLContext.getDefault() : trustingOnly(certificates);
        } catch (GeneralSecurityException error) {
            throw new IOException(error);
        }
    }

    private static SSLContext trustingOnly(String certificates) throws IOException, GeneralSecurityException {
        KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
        store.load(null, null);
        try (InputStream pem = new FileInputStream(certificates)) {
            for (var certificate : CertificateFactory.getInstance("X.509").generateCertificates(pem)) {
                store.setCertificateEntry("number " + store.size(), certificate);
            }
        }
        TrustManagerFactory trusted = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trusted.init(store);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, trusted.getTrustManagers(), null);
        return context;
    }

    private static void repeat(Reader reader, Method method, long ops) {
        long before = Protocol.allocated();
        reader.read = 0;
        reader.failed = null;
        try {
            for (long i = 0; i < ops; i++) {
                reader.sum = 0;
                method.read(reader);
            }
        } catch (IOException error) {
            reader.failed = error;
        } catch (OutOfMemoryError error) {
            reader.failed = new IOException(error);
        }
        reader.allocated = Protocol.allocated() - before;
    }

    private static final class Reading implements Protocol.Task {
        final Method method;
        final List<Reader> readers = new ArrayList<>();

        Reading(String name, Map<String, String> values) throws IOException {
            method = METHODS.get(name);
            if (method == null) {
                throw new IOException("there is no method " + name);
            }
            if (values.containsKey("url")) {
                tls = trusting(values.get("certificates"));
            }
            int bufferLen = Integer.parseInt(values.getOrDefault("buffer", "131072"));
            for (String number = ""; values.containsKey("file" + number); number = "" + (readers.size() + 1)) {
                readers.add(new Reader(values.get("file" + number), values.get("url" + number), bufferLen));
            }
        }

        /** One file is read here, several by a thread each. */
        @Override
        public long run(long ops) throws IOException, InterruptedException {
            if (readers.size() == 1) {
                repeat(readers.get(0), method, ops);
            } else {
                List<Thread> threads = new ArrayList<>();
                for (Reader reader : readers) {
                    threads.add(new Thread(() -> repeat(reader, method, ops)));
                }
                threads.forEach(Thread::start);
                for (Thread thread : threads) {
                    thread.join();
                }
            }
            long allocated = 0;
            for (Reader reader : readers) {
                if (reader.failed != null) {
                    throw reader.failed;
                }
                allocated += reader.allocated;
            }
            return allocated;
        }

        @Override
        public String result() {
            long sum = 0;
            long read = 0;
            for (Reader reader : readers) {
                sum += reader.sum;
                read += reader.read;
            }
            return String.format(" bytes=%d answer=%016x", read, sum);
        }
    }

    private static void copying() throws IOException {
        try (InputStream in = new FileInputStream(FileDescriptor.in);
                FileOutputStream out = new FileOutputStream(FileDescriptor.out)) {
            byte[] buffer = new byte[128 << 10];
            int n;
            while ((n = in.read(buffer)) >= 0) {
                out.write(buffer, 0, n);
            }
        }
    }

    public static void main(String[] words) throws IOException {
        if (words.length == 2 && words[0].equals("reading")) {
            Protocol.serve(words[1], values -> new Reading(words[1], values));
        } else if (words.length == 1 && words[0].equals("copying")) {
            copying();
        } else {
            System.err.println("use: Worker reading METHOD | Worker copying");
            System.exit(2);
        }
    }
}
