// A method of `reading` in Java: bytelab run reading --worker 'mine=java examples/Worker.java'
import java.nio.file.*;
import java.util.Scanner;

class Worker {
    public static void main(String[] arguments) throws Exception {
        Path path = null;
        System.out.println("hello 1 name=mine lang=java");
        for (Scanner orders = new Scanner(System.in); orders.hasNextLine();) {
            String[] words = orders.nextLine().split(" ");
            if (words[0].equals("prepare")) {
                for (String word : words)
                    if (word.startsWith("file=")) path = Path.of(java.net.URI.create("file://" + word.substring(5)));
                System.out.println("ready");
            } else if (words[0].equals("go")) {
                long start = System.nanoTime(), total = 0;
                byte[] all = Files.readAllBytes(path);
                for (byte b : all) total += b & 0xff;
                long wall = System.nanoTime() - start;
                System.out.printf("done %s wall=%d bytes=%d answer=%016x%n", words[1], wall, all.length, total);
            } else break;
        }
    }
}
