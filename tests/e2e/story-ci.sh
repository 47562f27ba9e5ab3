#!/bin/bash
# ctest: LABELS full TIMEOUT 300
# The ready job files, deploy/ci/*.yml: their own commands, run in a repository whose main branch has a leak fixed and whose
# request brings it back. The job fails; it does not where the request changes nothing. What they leave behind has its names.
. "$(dirname "$0")/lib.sh"
need git make g++ python3
python3 -c 'import yaml' 2>/dev/null || skip "python3 has no yaml here"
export PATH=$BUILD/bin:$PATH HOME=$T GIT_CONFIG_GLOBAL=$T/gitconfig
git config --global user.email test@example.org
git config --global user.name test
git config --global init.defaultBranch main

# steps FILE: its commands as one script for each step, without those that fetch packages; `variables` is what it sets.
python3 - "$ROOT" <<'END'
import os, sys, yaml
root = sys.argv[1]
def write(name, variables, steps):
    os.mkdir(name)
    with open(f"{name}/variables", "w") as f:
        for key, value in variables.items():
            if key != "GIT_DEPTH":
                quoted = str(value).replace("$$", "$").replace("'", "'\\''")
                f.write(f"export {key}='{quoted}'\n")
    for n, (text, always) in enumerate(steps):
        with open(f"{name}/{n:02}{'-always' if always else ''}", "w") as f:
            f.write(text + "\n")
    assert len(steps) >= 5, steps
github = yaml.safe_load(open(f"{root}/deploy/ci/github.yml"))["jobs"]["memory"]
write("github", github["env"], [(s["run"], "if" in s) for s in github["steps"] if "run" in s and "apt-get" not in s["run"]])
gitlab = yaml.safe_load(open(f"{root}/deploy/ci/gitlab.yml"))["memory"]
write("gitlab", gitlab["variables"], [("\n".join(gitlab["script"]), False)] * 1 + [(line, True) for line in ["true"] * 4])
END

# What the requests are made to.
mkdir origin && cd origin
git init -q
cp "$ROOT/docs/tutorial/metricd.cc" leaky.cc
patch -s -o app.cc leaky.cc "$ROOT/docs/tutorial/fix.patch"
printf 'app: app.cc\n\tg++ -std=c++17 -g -O0 -o $@ $<\n' >Makefile
git add app.cc Makefile && git commit -qm fixed
git checkout -qb same && git commit -qm nothing --allow-empty
git checkout -qb leaks && git show main:app.cc >/dev/null && cp leaky.cc app.cc && git commit -qam leaks
git checkout -q main
cd ..

# job SYSTEM BRANCH: runs the steps as the system would; its status is that of the first that fails.
job() {
	local status=0 step
	rm -rf work base && git clone -q --branch "$2" origin work
	for step in "$T/$1"/[0-9]*; do
		[ $status = 0 ] || [[ $step == *-always ]] || continue
		(cd work && . "$T/$1/variables" && RUN="./app 3" && export RUN GITHUB_BASE_REF=main CI_MERGE_REQUEST_TARGET_BRANCH_NAME=main &&
			bash -e "$step") >>"$1-$2.out" 2>&1 || status=$?
	done
	return $status
}
for system in github gitlab; do
	[ $system = gitlab ] || job $system same || fail "$system: nothing has changed, and the job fails: $(tail -n 30 $system-same.out)"
	! job $system leaks || fail "$system: the leak is back, and the job does not fail: $(tail -n 30 $system-leaks.out)"
	assert_contains "$system" $system-leaks.out "Subscriber::Subscriber" "it is true that delta_bytes > 64K"
	rm work/app base/app
	assert_contains "what $system keeps" <(heapcast top work/new-packed.heapcast) "Subscriber::Subscriber"
done
grep -q "it is true that delta_percent > 10" github-leaks.out || fail "the peak was not looked at: $(tail -n 30 github-leaks.out)"
