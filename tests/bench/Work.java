// Work for java: compression, buffers outside the heap, threads, loading and compiling of code: Work ROUNDS
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.zip.CRC32;
import java.util.zip.Deflater;
import java.util.zip.Inflater;

public class Work {
	static int packed(byte[] text) throws Exception {
		Deflater deflater = new Deflater(1);
		Inflater inflater = new Inflater();
		byte[] small = new byte[text.length + 100], again = new byte[text.length];

		deflater.setInput(text);
		deflater.finish();
		inflater.setInput(small, 0, deflater.deflate(small));
		int length = inflater.inflate(again);
		deflater.end();
		inflater.end();
		return length;
	}

	static long buffers(int round) {
		long sum = 0;

		for (int i = 0; i < 50; i++) {
			ByteBuffer buffer = ByteBuffer.allocateDirect(64 + (i * round) % 4000);
			CRC32 crc = new CRC32();

			buffer.putLong(0, round);
			crc.update(buffer);
			sum += crc.getValue() % 1009;
		}
		return sum;
	}

	static long words(int round) {
		Map<String, List<Integer>> words = new TreeMap<>();

		for (int i = 0; i < 500; i++)
			words.computeIfAbsent(("word-" + i * 7919 % 977 + "-" + round).intern(), k -> new ArrayList<>()).add(i);
		return words.values().stream().collect(Collectors.summingInt(List::size));
	}

	@SuppressWarnings("unchecked")
	static int proxies(int round) {
		Function<Integer, Integer> f = (Function<Integer, Integer>) Proxy.newProxyInstance(
			Work.class.getClassLoader(), new Class<?>[] {Function.class}, (proxy, method, args) -> (Integer)args[0] + round);

		return f.apply(1);
	}

	static long work(int rounds) throws Exception {
		long sum = 0;

		for (int round = 1; round <= rounds; round++) {
			byte[] text = ("the board says " + round + "; ").repeat(40).getBytes(StandardCharsets.UTF_8);

			sum += packed(text) + buffers(round) + words(round) + proxies(round);
		}
		return sum;
	}

	public static void main(String[] args) throws Exception {
		long[] sums = new long[2];
		List<Thread> threads = new ArrayList<>();

		for (int i = 0; i < sums.length; i++) {
			int number = i;
			threads.add(new Thread(() -> {
				try {
					sums[number] = work(Integer.parseInt(args[0]));
				} catch (Exception e) {
					throw new IllegalStateException(e);
				}
			}));
		}
		for (Thread thread : threads)
			thread.start();
		for (Thread thread : threads)
			thread.join();
		System.out.println(sums[0] + sums[1]);
	}
}
