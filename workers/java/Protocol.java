// The line protocol, and what else the workers in Java share.
import com.sun.management.ThreadMXBean;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;

final class Protocol {
    /** A method that is set up for its arguments. */
    interface Task {
        /** Does it so often, and returns how many bytes that allocated. */
        long run(long ops) throws IOException, InterruptedException;

        /** What a sample reports besides its time. */
        String result();

        /** Of all that it hands over, if it has one. */
        default Long digest() throws IOException {
            return null;
        }
    }

    interface Prepare {
        Task prepare(Map<String, String> values) throws IOException;
    }

    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    /** Set in the counting pass. */
    private static final boolean COUNTS = System.getenv("BYTELAB_COUNTING") != null;

    /** What this thread has allocated so far. */
    static long allocated() {
        return COUNTS ? THREADS.getThreadAllocatedBytes(Thread.currentThread().getId()) : 0;
    }

    /** Answers orders until `bye` or the end of the input. */
    static void serve(String name, Prepare prepare) throws IOException {
        System.out.println("hello 1 name=java-" + name + " lang=java");
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        Task task = null;
        String line;
        while ((line = orders.readLine()) != null && !line.equals("bye")) {
            String[] words = line.split(" ");
            try {
                if (words[0].equals("prepare")) {
                    task = prepare.prepare(pairs(words));
                    System.out.println(ready(task));
                } else if (words[0].equals("go")) {
                    System.out.println(sample(task, words[1], pairs(words)));
                }
            } catch (IOException | InterruptedException | RuntimeException | OutOfMemoryError error) {
                System.out.println("fail " + error.toString().replaceAll("[^ -~]", "?"));
            }
        }
    }

    /** The digest may be left out where an earlier process has given it. */
    private static String ready(Task task) throws IOException {
        boolean hasDigest = System.getenv("BYTELAB_DIGEST") != null || System.getenv("BYTELAB_FRESH") != null;
        Long digest = hasDigest ? null : task.digest();
        return digest == null ? "ready" : String.format("ready digest=%016x", digest);
    }

    private static String sample(Task task, String n, Map<String, String> values)
            throws IOException, InterruptedException {
        long ops = Long.parseLong(values.getOrDefault("ops", "1"));
        long[] before = ticks();
        long start = System.nanoTime();
        long allocated = task.run(ops);
        long wall = System.nanoTime() - start;
        String cpu = cpu(before, ticks(), ops);
        String line = String.format("done %s wall=%d ops=%d%s%s", n, wall, ops, task.result(), cpu);
        return COUNTS ? line + " allocated_bytes=" + (double) allocated / ops : line;
    }

    private static final Path STAT = Path.of("/proc/self/stat");
    private static final double TICK_NS = 1e7;
    private static final long TICKS_MIN = 10;

    /** The user and the system time of this process until now, in ticks of 10 ms; null where they are not known. */
    private static long[] ticks() {
        try {
            String text = Files.readString(STAT);
            // The name before it may have spaces.
            String[] words = text.substring(text.lastIndexOf(')') + 2).split(" ");
            return new long[] {Long.parseLong(words[11]), Long.parseLong(words[12])};
        } catch (IOException | RuntimeException error) {
            return null;
        }
    }

    /** Of a sample that is shorter than some ticks, they would say nothing. */
    private static String cpu(long[] before, long[] after, long ops) {
        if (before == null || after == null || after[0] + after[1] - before[0] - before[1] < TICKS_MIN) {
            return "";
        }
        double user = (after[0] - before[0]) * TICK_NS / ops;
        double system = (after[1] - before[1]) * TICK_NS / ops;
        return String.format(Locale.ROOT, " user_ns=%.1f system_ns=%.1f", user, system);
    }

    private static Map<String, String> pairs(String[] words) {
        Map<String, String> values = new HashMap<>();
        for (String word : words) {
            int equals = word.indexOf('=');
            if (equals > 0) {
                // A form's decoder takes a plus for a space.
                String value = word.substring(equals + 1).replace("+", "%2B");
                values.put(word.substring(0, equals), URLDecoder.decode(value, StandardCharsets.UTF_8));
            }
        }
        return values;
    }
}
