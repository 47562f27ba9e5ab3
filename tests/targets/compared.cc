/*
 * Work whose every allocation is the same in each run, for comparisons of two ways to record it: three libraries besides, standard
 * containers, exceptions, deep recursion, callbacks through libc, threads one after the other.
 *
 *	compared [ROUNDS]	begins when there is a byte, or an end, on standard input
 */
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <new>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "tests/targets/compared.h"

#define NOINLINE __attribute__((noinline))

static void *volatile sink;

static void keep(void *p)
{
	sink = p;
	__asm__ volatile("" ::: "memory");
}

struct node {
	std::unique_ptr<node> left, right;
	char payload[104];
};

/* Frames of some size: the stack is deeper than what is copied of it. */
NOINLINE static std::unique_ptr<node> grow(unsigned depth)
{
	volatile unsigned pad[40];
	auto made = std::make_unique<node>();

	pad[depth % 40] = depth;
	if (depth) {
		made->left = grow(depth - 1);
		if (depth % 50 == 0)
			made->right = grow(pad[depth % 40] / 10);
	}
	return made;
}

NOINLINE static void fail_at(unsigned depth, const std::string &why)
{
	std::string longer = why + " and that is a long enough text";

	if (!depth)
		throw std::runtime_error(longer);
	fail_at(depth - 1, longer);
	keep(longer.data());
}

NOINLINE static void exceptions(unsigned round)
{
	for (unsigned i = 0; i < 20; i++) {
		try {
			fail_at(i, "at " + std::to_string(round));
		} catch (const std::runtime_error &e) {
			keep(strdup(e.what()));
			free(sink);
		}
	}
}

NOINLINE static void containers(unsigned round)
{
	std::map<std::string, std::vector<int>> by_name;
	std::unordered_map<unsigned, std::string> by_number;
	std::deque<std::list<unsigned>> queue;

	for (unsigned i = 0; i < 120; i++) {
		std::string name = "a name that does not fit into the string " + std::to_string(i * 7919 % 120);

		by_name[name].push_back((int)(i + round));
		by_number[i * 31] = name;
		queue.emplace_back(3, i);
	}
	for (auto &entry : by_name)
		entry.second.resize(40);
	keep(&queue);
}

NOINLINE static void text(unsigned round)
{
	static const std::regex words("([a-z]+)-([0-9]+)");
	std::ostringstream out;
	std::smatch match;
	std::string line = "item-" + std::to_string(round) + " other-42 and so on, up to the end of it";

	out << line << ' ' << round << ' ' << 1.5 * round << std::string(600, 'x');
	if (std::regex_search(line, match, words))
		keep((void *)match.str(1).data());
}

/* Through qsort's own frames. */
static int compare(const void *a, const void *b)
{
	std::vector<char> scratch(300);

	keep(scratch.data());
	return *(const int *)a - *(const int *)b;
}

NOINLINE static void sorting()
{
	int numbers[60];

	for (int i = 0; i < 60; i++)
		numbers[i] = i * 37 % 61;
	qsort(numbers, 60, sizeof(numbers[0]), compare);

	std::vector<std::pair<int, int>> pairs;
	for (int i = 0; i < 500; i++)
		pairs.emplace_back(i * 7919 % 500, i);
	std::stable_sort(pairs.begin(), pairs.end());
}

NOINLINE static void closures()
{
	std::vector<std::function<void *(std::size_t)>> all;
	char large[64] = "captured";

	for (unsigned i = 0; i < 30; i++)
		all.push_back([large, i](std::size_t size) {
			char *p = new char[size + i];
			p[0] = large[0];
			return (void *)p;
		});
	for (auto &one : all) {
		char *p = (char *)one(700);
		keep(p);
		delete[] p;
	}
	void *p = operator new(5000, std::nothrow);
	operator delete(p, std::nothrow);
	struct alignas(64) aligned { char bytes[192]; };
	delete new aligned;
}

/* These stay. */
NOINLINE static void leaks(unsigned round)
{
	keep(new std::string(100 + round, 'l'));
	if (round % 3 == 0)
		keep(calloc(round + 1, 48));
}

static void *in_thread(void *argument)
{
	if (argument)
		compared_first(90, [](void *) { keep(malloc(333)); }, argument);
	return nullptr;
}

/* (What libc keeps for a thread is as large as there are libraries with thread-local data: it is there before the work begins.) */
NOINLINE static void run_thread(void *argument)
{
	pthread_t thread;

	if (pthread_create(&thread, nullptr, in_thread, argument) || pthread_join(thread, nullptr))
		abort();
}

NOINLINE static void work(unsigned rounds)
{
	for (unsigned round = 0; round < rounds; round++) {
		containers(round);
		text(round);
		sorting();
		closures();
		if (round % 4 == 0) {
			exceptions(round);
			grow(200);
		}
		leaks(round);
		compared_first(round % 30, [](void *) { compared_second(5); }, nullptr);
		if (round % 20 == 0)
			run_thread(&round);
	}
}

int main(int argc, char **argv)
{
	unsigned rounds = argc > 1 ? (unsigned)strtoul(argv[1], nullptr, 10) : 10;
	char byte;

	run_thread(nullptr);
	if (read(0, &byte, 1) < 0)
		return 1;
	work(rounds);
	return 7;
}
