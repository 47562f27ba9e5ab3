// Work for measuring a recorder, as C++ programs do it whose stacks are deep and change all the
// time:
//
//	bench-deep WHAT ROUNDS [THREADS]
//
//	json		a parser by recursive descent builds a tree of maps, vectors and strings
//	regex		std::regex on many lines: it recurses once or more for each character
//	visit		expressions of std::function and std::variant call each other, and return
// text 	maps		std::map<string, vector>, filled, looked up and copied
//	containers	list, deque, set, multimap, priority_queue, u16string
//
// Prints a sum that depends on all of it.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <queue>
#include <regex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <variant>
#include <vector>

namespace
{

std::uint64_t next_random(std::uint64_t &random)
{
	random ^= random << 13;
	random ^= random >> 7;
	random ^= random << 17;
	return random;
}

// --- json

struct value {
	std::string text;
	std::vector<value> items;
	std::map<std::string, value> members;
};

void write_json(std::string &out, unsigned depth, std::uint64_t &random)
{
	unsigned count = 2 + next_random(random) % 3;

	if (!depth) {
		out += next_random(random) % 2 ? "\"the name of a sensor, long enough\""
					       : std::to_string(random % 100000);
		return;
	}
	if (next_random(random) % 2) {
		out += "[";
		for (unsigned i = 0; i < count; i++) {
			out += i ? ", " : "";
			write_json(out, depth - 1 - random % 2 * (depth > 1), random);
		}
		out += "]";
		return;
	}
	out += "{";
	for (unsigned i = 0; i < count; i++) {
		out += (i ? ", " : "") + ("\"member-with-number-" + std::to_string(i)) + "\": ";
		write_json(out, depth - 1, random);
	}
	out += "}";
}

class parser
{
      public:
	explicit parser(const std::string &text) : text(text)
	{
	}

	value parse_value()
	{
		skip_space();
		switch (peek()) {
		case '{':
			return parse_object();
		case '[':
			return parse_array();
		case '"':
			return parse_string();
		default:
			return parse_number();
		}
	}

      private:
	const std::string &text;
	std::size_t at = 0;

	char peek() const
	{
		return at < text.size() ? text[at] : '\0';
	}

	void skip_space()
	{
		while (peek() == ' ')
			at++;
	}

	bool take(char c)
	{
		skip_space();
		if (peek() != c)
			return false;
		at++;
		return true;
	}

	void want(char c)
	{
		if (!take(c))
			throw std::runtime_error("wanted " + std::string(1, c));
	}

	value parse_object()
	{
		value v;

		want('{');
		do {
			std::string name = parse_string().text;

			want(':');
			v.members.emplace(name, parse_value());
		} while (take(','));
		want('}');
		return v;
	}

	value parse_array()
	{
		value v;

		want('[');
		do
			v.items.push_back(parse_value());
		while (take(','));
		want(']');
		return v;
	}

	value parse_string()
	{
		value v;

		want('"');
		while (peek() && peek() != '"')
			v.text += text[at++];
		want('"');
		return v;
	}

	value parse_number()
	{
		value v;

		while (peek() >= '0' && peek() <= '9')
			v.text += text[at++];
		return v;
	}
};

std::uint64_t sum_of(const value &v)
{
	std::uint64_t sum = v.text.size();

	for (const auto &item : v.items)
		sum += sum_of(item);
	for (const auto &member : v.members)
		sum += member.first.size() + sum_of(member.second);
	return sum;
}

std::uint64_t work_json(unsigned rounds, std::uint64_t random)
{
	std::uint64_t sum = 0;

	for (unsigned round = 0; round < rounds; round++) {
		std::string text;

		write_json(text, 7, random);
		value whole = parser(text).parse_value();

		sum += sum_of(whole) + sum_of(value(whole));
	}
	return sum;
}

// --- regex

std::uint64_t work_regex(unsigned rounds, std::uint64_t random)
{
	const std::regex entry("([a-z]+)-([0-9]+): (\\w+)( [a-z]+)*( \\([^)]*\\))?");
	const std::regex word("[a-z]{3,}");
	std::uint64_t sum = 0;

	for (unsigned round = 0; round < rounds; round++) {
		std::string line = "board-" + std::to_string(next_random(random) % 1000) + ": warm";
		std::smatch match;

		for (unsigned i = random >> 32 & 3; i; i--)
			line += " or colder";
		line += random & 1 ? " (at night)" : "";
		if (std::regex_match(line, match, entry))
			sum += match[1].str().size() + std::stoul(match[2]);
		sum += std::regex_replace(line, word, "<$&>").size();
	}
	return sum;
}

// --- visit

struct node;
using node_pointer = std::shared_ptr<const node>;

struct constant {
	std::string text;
};
struct sum_of_two {
	node_pointer left, right;
};
struct list_of {
	std::vector<node_pointer> items;
};
struct called {
	std::function<std::string(const std::string &)> function;
	node_pointer argument;
};
struct node {
	std::variant<constant, sum_of_two, list_of, called> is;
};

node_pointer make(unsigned depth, std::uint64_t &random)
{
	std::string name = "a constant of some length " + std::to_string(next_random(random) % 100);

	if (!depth)
		return std::make_shared<node>(node{constant{name}});
	switch (random >> 40 & 3) {
	case 0:
		return std::make_shared<node>(
			node{list_of{{make(depth - 1, random), make(depth - 1, random)}}});
	case 1:
		return std::make_shared<node>(node{called{
			[name](const std::string &x) { return name + x.substr(x.size() / 2); },
			make(depth - 1, random)}});
	default:
		return std::make_shared<node>(
			node{sum_of_two{make(depth - 1, random), make(depth - 1, random)}});
	}
}

struct visitor {
	std::string operator()(const constant &c) const
	{
		return c.text;
	}
	std::string operator()(const sum_of_two &s) const
	{
		std::string left = std::visit(*this, s.left->is);

		return left.substr(left.size() / 2) + std::visit(*this, s.right->is);
	}
	std::string operator()(const list_of &l) const
	{
		std::vector<std::string> parts;

		for (const auto &item : l.items)
			parts.push_back(std::visit(*this, item->is));
		return *std::max_element(parts.begin(), parts.end());
	}
	std::string operator()(const called &c) const
	{
		return c.function(std::visit(*this, c.argument->is));
	}
};

std::uint64_t work_visit(unsigned rounds, std::uint64_t random)
{
	std::uint64_t sum = 0;

	for (unsigned round = 0; round < rounds; round++) {
		node_pointer whole = make(9, random);

		for (unsigned i = 0; i < 3; i++)
			sum += std::visit(visitor{}, whole->is).size();
	}
	return sum;
}

// --- maps

std::uint64_t work_maps(unsigned rounds, std::uint64_t random)
{
	std::uint64_t sum = 0;

	for (unsigned round = 0; round < rounds; round++) {
		std::map<std::string, std::vector<int>> found;

		for (int i = 0; i < 400; i++) {
			std::string name =
				"a-board-in-the-cellar-" + std::to_string(next_random(random) % 97);

			found[name].push_back(i);
			if (random >> 60 == 0)
				found.erase(name);
		}
		std::map<std::string, std::vector<int>> copy = found;

		for (const auto &entry : copy)
			sum += entry.first.size() + entry.second.size();
	}
	return sum;
}

// --- containers

struct later {
	bool operator()(const std::unique_ptr<std::u16string> &a,
			const std::unique_ptr<std::u16string> &b) const
	{
		return *a > *b;
	}
};

std::uint64_t work_containers(unsigned rounds, std::uint64_t random)
{
	std::uint64_t sum = 0;

	for (unsigned round = 0; round < rounds; round++) {
		std::priority_queue<std::unique_ptr<std::u16string>,
				    std::vector<std::unique_ptr<std::u16string>>, later>
			queue;
		std::unordered_multimap<unsigned, std::set<std::uint64_t>> sets;
		std::deque<std::list<unsigned>> lists;

		for (unsigned i = 0; i < 200; i++) {
			queue.push(std::make_unique<std::u16string>(1 + next_random(random) % 30,
								    u'a' + random % 26));
			sets.emplace(i % 11, std::set<std::uint64_t>{random, random % 7, i});
			lists.emplace_back(random % 5, i);
			if (i % 3 == 0) {
				sum += queue.top()->size() + lists.front().size();
				queue.pop();
				lists.pop_front();
			}
		}
		for (const auto &entry : sets)
			sum += entry.second.size();
	}
	return sum;
}

const std::map<std::string, std::uint64_t (*)(unsigned, std::uint64_t)> works = {
	{"json", work_json}, {"regex", work_regex},	      {"visit", work_visit},
	{"maps", work_maps}, {"containers", work_containers},
};

} // namespace

int main(int argc, char **argv)
{
	auto chosen = works.find(argc > 1 ? argv[1] : "");
	unsigned rounds =
		argc > 2 ? static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10)) : 100;
	unsigned count = argc > 3 ? static_cast<unsigned>(std::strtoul(argv[3], nullptr, 10)) : 1;
	std::vector<std::uint64_t> sums(count);
	std::vector<std::thread> threads;
	std::uint64_t sum = 0;

	if (chosen == works.end() || !rounds || !count || count > 64) {
		std::fprintf(stderr, "usage: bench-deep WHAT ROUNDS [THREADS], at most 64\n");
		return 2;
	}
	for (unsigned i = 0; i < count; i++)
		threads.emplace_back([&sums, i, rounds, chosen] {
			sums[i] = chosen->second(rounds, 88172645463325252ull + i);
		});
	for (auto &thread : threads)
		thread.join();
	for (auto s : sums)
		sum += s;
	std::printf("%llu\n", static_cast<unsigned long long>(sum));
	return 0;
}
