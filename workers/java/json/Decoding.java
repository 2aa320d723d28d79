// From bytes to values by Jackson, into its tree: `Decoding decoding jackson` speaks the line protocol. The jobs and
// their answers are those of `crates/experiments/src/decoding/jobs.rs` in bytelab.
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.Map;

public final class Decoding implements Protocol.Task {
    private static final ObjectMapper MAPPER = new ObjectMapper();

    private final byte[] bytes;
    private final JsonNode doc;
    private final Object[] steps;
    private final String job;
    /** Whether a text has as many bytes in UTF-8 as it has chars. */
    private final boolean isAscii;

    private long sum;
    private JsonNode found;
    /** What was made last, so that it is not optimised away. */
    private Object made;

    private Decoding(Map<String, String> values) throws IOException {
        bytes = Files.readAllBytes(Path.of(values.get("file")));
        doc = MAPPER.readTree(bytes);
        job = values.get("job");
        String[] tokens = values.get("pointer").split("/");
        steps = new Object[Math.max(tokens.length - 1, 0)];
        for (int i = 0; i < steps.length; i++) {
            steps[i] = step(tokens[i + 1]);
        }
        isAscii = isAscii(doc);
    }

    private static Object step(String token) {
        boolean isIndex = !token.isEmpty() && token.chars().allMatch(c -> c >= '0' && c <= '9');
        return isIndex ? (Object) Integer.valueOf(token) : token.replace("~1", "/").replace("~0", "~");
    }

    @Override
    public long run(long ops) throws IOException {
        long before = Protocol.allocated();
        repeat(ops);
        return Protocol.allocated() - before;
    }

    private void repeat(long ops) throws IOException {
        for (long i = 0; i < ops; i++) {
            switch (job) {
                case "convert":
                case "parse":
                case "open-trusted":
                    made = MAPPER.readTree(bytes);
                    break;
                case "lookup":
                    found = find(doc);
                    break;
                case "traverse":
                    sum = visit(doc);
                    break;
                case "to-json":
                    made = MAPPER.writeValueAsBytes(doc);
                    break;
                case "bytes-to-name":
                    found = find(MAPPER.readTree(bytes));
                    break;
                case "bytes-to-all":
                case "json-to-all":
                    sum = visit(MAPPER.readTree(bytes));
                    break;
                default:
                    throw new IOException("there is no job " + job);
            }
        }
    }

    @Override
    public String result() {
        return " bytes=0" + answer() + " size_bytes=" + bytes.length;
    }

    private String answer() {
        switch (job) {
            case "lookup":
            case "bytes-to-name":
                return String.format(" answer=%016x", mark(found));
            case "traverse":
            case "bytes-to-all":
            case "json-to-all":
                return String.format(" answer=%016x", sum);
            default:
                return "";
        }
    }

    private JsonNode find(JsonNode value) {
        for (Object step : steps) {
            value = step instanceof Integer ? value.get((Integer) step) : value.get((String) step);
        }
        return value;
    }

    /** The lengths in UTF-8 of texts and keys, and the whole parts of numbers. */
    private long visit(JsonNode value) {
        switch (value.getNodeType()) {
            case STRING:
                return length(value.textValue());
            case NUMBER:
                // What is too large becomes the largest integer, as in Rust.
                return (long) value.doubleValue();
            case BOOLEAN:
                return value.booleanValue() ? 1 : 0;
            case ARRAY: {
                long total = 0;
                for (JsonNode item : value) {
                    total += visit(item);
                }
                return total;
            }
            case OBJECT: {
                long total = 0;
                for (Map.Entry<String, JsonNode> pair : value.properties()) {
                    total += length(pair.getKey()) + visit(pair.getValue());
                }
                return total;
            }
            default:
                return 0;
        }
    }

    private int length(String text) {
        return isAscii ? text.length() : text.getBytes(StandardCharsets.UTF_8).length;
    }

    private static boolean isAscii(JsonNode value) {
        for (Iterator<String> keys = value.fieldNames(); keys.hasNext(); ) {
            if (!isAscii(keys.next())) {
                return false;
            }
        }
        for (JsonNode item : value) {
            if (!isAscii(item)) {
                return false;
            }
        }
        return !value.isTextual() || isAscii(value.textValue());
    }

    private static boolean isAscii(String text) {
        return text.chars().allMatch(c -> c < 0x80);
    }

    /** What stands for a value that was looked up. */
    private static long mark(JsonNode value) {
        if (value.isTextual()) {
            byte[] text = value.textValue().getBytes(StandardCharsets.UTF_8);
            long start = 0;
            for (int i = 3; i >= 0 && text.length >= 4; i--) {
                start = start << 8 | text[i] & 0xff;
            }
            return text.length + (start << 32);
        }
        if (value.isNumber()) {
            return Double.doubleToRawLongBits(value.doubleValue());
        }
        if (value.isBoolean()) {
            return value.booleanValue() ? 1 : 0;
        }
        return value.isNull() ? 0 : 1;
    }

    /** The digest of `crates/experiments/src/decoding/jobs.rs`. */
    private static long digest(JsonNode value) {
        if (value.isTextual()) {
            return digest(5, value.textValue());
        }
        if (value.isNumber()) {
            return mixed(4, Double.doubleToRawLongBits(value.doubleValue() + 0.0));
        }
        if (value.isBoolean()) {
            return value.booleanValue() ? 3 : 2;
        }
        if (value.isArray()) {
            long total = 6;
            for (JsonNode item : value) {
                total = mixed(total, digest(item));
            }
            return total;
        }
        if (!value.isObject()) {
            return 1;
        }
        long total = 7;
        for (Map.Entry<String, JsonNode> pair : value.properties()) {
            total += mixed(digest(8, pair.getKey()), digest(pair.getValue()));
        }
        return total;
    }

    private static long digest(long total, String text) {
        for (byte b : text.getBytes(StandardCharsets.UTF_8)) {
            total = mixed(total, b & 0xff);
        }
        return total;
    }

    /** The finaliser of splitmix64 over the sum so far. */
    private static long mixed(long total, long next) {
        long z = total * 0x9e3779b97f4a7c15L ^ next;
        z = (z ^ z >>> 30) * 0xbf58476d1ce4e5b9L;
        z = (z ^ z >>> 27) * 0x94d049bb133111ebL;
        return z ^ z >>> 31;
    }

    /** Of the text that Jackson writes, read again. */
    @Override
    public Long digest() throws IOException {
        return digest(MAPPER.readTree(MAPPER.writeValueAsBytes(doc)));
    }

    public static void main(String[] words) throws IOException {
        if (words.length != 2 || !words[0].equals("decoding") || !words[1].equals("jackson")) {
            System.err.println("use: Decoding decoding jackson");
            System.exit(2);
        }
        Protocol.serve("jackson", Decoding::new);
    }
}
