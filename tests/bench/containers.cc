// Work for measuring a recorder, as C++ programs do it: strings that outgrow their small buffer, maps and vectors of them,
// shared pointers, sorting, exceptions through several frames. Each thread does the same:
//
//	bench-containers ROUNDS [THREADS]
//
// Prints a sum that depends on all of it.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace
{

struct reading {
	std::string board;
	std::vector<double> values;
};

using readings = std::vector<std::shared_ptr<reading>>;

std::string name_of(unsigned number)
{
	return "board-" + std::to_string(number % 97) + "/sensor-" + std::to_string(number % 13) +
	       "/temperature";
}

readings collect(unsigned round)
{
	readings all;

	for (unsigned i = 0; i < 400; i++) {
		auto r = std::make_shared<reading>();

		r->board = name_of(i * 31 + round);
		for (unsigned j = 0; j < i % 9; j++)
			r->values.push_back(j * 0.5 + round);
		all.push_back(std::move(r));
	}
	return all;
}

std::map<std::string, readings> by_board(const readings &all)
{
	std::map<std::string, readings> groups;

	for (const auto &r : all)
		groups[r->board.substr(0, r->board.find('/') + 9)].push_back(r);
	return groups;
}

double parse(const std::string &text)
{
	if (text.size() % 11 == 0)
		throw std::invalid_argument("not a number: " + text);
	return static_cast<double>(text.size());
}

double parse_all(const readings &all)
{
	double sum = 0;

	for (std::size_t i = 0; i < all.size(); i += 20) {
		try {
			sum += parse(all[i]->board + std::string(i % 23, 'x'));
		} catch (const std::exception &e) {
			sum += std::string(e.what()).size();
		}
	}
	return sum;
}

std::uint64_t count_words(const std::map<std::string, readings> &groups)
{
	std::unordered_map<std::string, std::uint64_t> words;
	std::vector<std::string> order;
	std::uint64_t sum = 0;

	for (const auto &group : groups) {
		std::ostringstream line;

		for (const auto &r : group.second)
			line << r->board << ' ' << r->values.size() << ' ';
		std::istringstream in(line.str());
		for (std::string word; in >> word;)
			words[word]++;
	}
	for (const auto &word : words)
		order.push_back(word.first);
	std::sort(order.begin(), order.end());
	for (std::size_t i = 0; i < order.size(); i++)
		sum += i * words[order[i]];
	return sum;
}

std::uint64_t work(unsigned rounds)
{
	std::uint64_t sum = 0;

	for (unsigned round = 0; round < rounds; round++) {
		readings all = collect(round);

		sum += count_words(by_board(all)) + static_cast<std::uint64_t>(parse_all(all));
	}
	return sum;
}

} // namespace

int main(int argc, char **argv)
{
	unsigned rounds =
		argc > 1 ? static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10)) : 100;
	unsigned count = argc > 2 ? static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10)) : 1;
	std::vector<std::uint64_t> sums(count);
	std::vector<std::thread> threads;
	std::uint64_t sum = 0;

	if (!rounds || !count || count > 64) {
		std::fprintf(stderr, "usage: bench-containers ROUNDS [THREADS], at most 64\n");
		return 2;
	}
	for (unsigned i = 0; i < count; i++)
		threads.emplace_back([&sums, i, rounds] { sums[i] = work(rounds); });
	for (auto &thread : threads)
		thread.join();
	for (auto s : sums)
		sum += s;
	std::printf("%llu\n", static_cast<unsigned long long>(sum));
	return 0;
}
