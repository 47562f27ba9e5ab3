#!/bin/bash
# Python's own tests of JSON, threads and children: each one ends as it does without the recorder.
# ctest: LABELS full TIMEOUT 900
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-real.sh"
need python3
python3 -c 'import test.test_json, test.test_threading, test.test_subprocess' 2>/dev/null ||
	skip "python3's own tests are not installed (libpython3.11-testsuite)"
export PYTHONDONTWRITEBYTECODE=1 PYTHONHASHSEED=0

# Each test's verdict, and how many there were. What they write themselves has times and numbers of processes in it.
alike() {
	{ grep -E ' \.\.\. |^(Ran |OK|FAILED|FAIL:|ERROR:)' || true; } |
		sed -E 's/^(Ran [0-9]+ tests) in .*/\1/; s/ \.\.\. .*(ok|FAIL|ERROR|skipped.*)$/ ... \1/'
}

for tests in test_json test_threading test_subprocess; do
	LIMIT=300 same "$tests" python3 -m unittest -v "test.$tests"
	grep -q '^Ran [1-9]' "$T/recorded.err" || fail "$tests ran no test"
	echo "$tests: $(grep -E '^(Ran|OK|FAILED)' "$T/recorded.err" | tr '\n' ' ')"
done
