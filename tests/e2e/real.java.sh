#!/bin/bash
# java: a virtual machine with a score of threads, a compiler at run time, its own handlers of faults. The same answer with and
# without the recorder.
# ctest: LABELS full TIMEOUT 300
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-real.sh"
need java keytool
java -version >/dev/null 2>&1 || skip "java does not run here"

same "java -version" java -version
same "java -Xint -version" java -Xint -version
same "java -server -version" java -server -version
# A program that every Java runtime has: certificates are parsed, hashed and sorted.
same keytool keytool -list -cacerts -storepass changeit
same "keytool, interpreted" keytool -J-Xint -list -cacerts -storepass changeit

cat >"$T/Work.java" <<'END'
import java.util.*;

public class Work {
	static long work(int seed) {
		Map<String, List<Integer>> words = new TreeMap<>();
		for (int i = 0; i < 60000; i++)
			words.computeIfAbsent("k" + (i * 7919 + seed) % 977, k -> new ArrayList<>()).add(i);
		return words.values().stream().mapToLong(l -> l.stream().mapToLong(x -> x).sum() % 1009).sum();
	}

	static int recurse(int n) { return recurse(n + 1) + 1; }

	public static void main(String[] args) throws Exception {
		List<Thread> threads = new ArrayList<>();
		long[] sums = new long[8];
		for (int i = 0; i < sums.length; i++) {
			final int n = i;
			threads.add(new Thread(() -> sums[n] = work(n)));
		}
		for (Thread t : threads) t.start();
		for (Thread t : threads) t.join();
		int[] none = null;
		try { System.out.println(none.length); } catch (NullPointerException e) { System.out.println("null"); }
		try { recurse(0); } catch (StackOverflowError e) { System.out.println("overflow"); }
		System.out.println(Arrays.toString(sums));
		System.exit(3);
	}
}
END
if command -v javac >/dev/null; then
	javac -d "$T" "$T/Work.java"
	same "a loop" java -Xmx128m -cp "$T" Work
	same "a loop, interpreted" java -Xint -Xmx128m -cp "$T" Work
fi
