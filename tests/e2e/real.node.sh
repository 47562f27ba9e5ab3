#!/bin/bash
# ctest: LABELS full
# node: code that is made while it runs, worker threads, a child, streams. The same answer with and without the recorder.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-real.sh"
need node

cat >"$T/work.js" <<'END'
const { Worker, isMainThread, parentPort, workerData } = require("worker_threads");
const { execFileSync } = require("child_process");
const zlib = require("zlib");
const crypto = require("crypto");

function hot(n) {
	let sum = 0;
	for (let i = 0; i < n; i++)
		sum = (sum * 31 + (i ^ (sum >> 3))) | 0;
	return sum;
}

function work(seed) {
	const words = new Map();
	for (let i = 0; i < 30000; i++) {
		const key = "k" + ((i * 7919 + seed) % 977);
		words.set(key, (words.get(key) || []).concat(i).slice(-20));
	}
	const text = JSON.stringify([...words]);
	const packed = zlib.gzipSync(text);
	const again = JSON.parse(zlib.gunzipSync(packed).toString());
	return [again.length, hot(2e5 + seed), crypto.createHash("sha256").update(text).digest("hex")].join(" ");
}

if (!isMainThread) {
	parentPort.postMessage(work(workerData));
} else {
	const answers = [];
	let left = 4;
	for (let i = 0; i < 4; i++) {
		const worker = new Worker(__filename, { workerData: i });
		worker.on("message", (text) => { answers[i] = text; });
		worker.on("exit", () => {
			if (--left)
				return;
			console.log(answers.join("\n"));
			console.error(execFileSync("echo", ["a child"]).toString().trim());
			process.exitCode = 5;
		});
	}
	console.log(work(99));
}
END
same node node "$T/work.js"
assert_contains "node's output" "$T/native.out" "977 "
assert_contains "node's errors" "$T/native.err" "a child"
same "node, interpreted" node --jitless "$T/work.js"
FOLLOW=1 LEAST=2 same "node and its child" node "$T/work.js"
