// A real program's mix for the comparison with addr2line: templates, lambdas, local and unnamed scopes, exceptions.
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <regex>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

namespace one
{
namespace
{
struct hidden {
	std::string find(int count)
	{
		std::regex pattern("a+b*");
		std::smatch match;
		std::string text(count, 'a');

		if (std::regex_search(text, match, pattern))
			return match[0];
		return text;
	}
};
} // namespace

template <class T> struct box {
	std::vector<T> items;

	void add(T item)
	{
		items.push_back(std::move(item));
	}
	T sum()
	{
		T total{};

		for (auto &item : items)
			total = total + item;
		return total;
	}
};

std::map<std::string, std::vector<int>> build(int count)
{
	std::map<std::string, std::vector<int>> result;

	for (int i = 0; i < count; i++)
		result[std::to_string(i % 7)].push_back(i);
	return result;
}
} // namespace one

extern "C" int plain(int count)
{
	return count + static_cast<int>(one::build(count).size());
}

int main(int count, char **)
{
	one::box<std::string> words;
	one::hidden searcher;
	std::unordered_map<std::string, std::shared_ptr<one::box<int>>> shared;
	auto lambda = [&](int value) {
		std::ostringstream text;

		text << value << shared.size();
		return text.str();
	};
	std::function<std::string(int)> function = lambda;
	struct local {
		static std::string go(int n)
		{
			return std::string(n, 'z') + "q";
		}
	};
	std::vector<std::string> sorted{"b", "a"};

	for (int i = 0; i < count + 4; i++)
		words.add(std::to_string(i));
	shared["x"] = std::make_shared<one::box<int>>();
	shared["x"]->add(3);
	std::sort(sorted.begin(), sorted.end());
	try {
		if (count > 5)
			throw std::runtime_error(words.sum());
	} catch (const std::exception &e) {
		std::cout << e.what();
	}
	std::cout << words.sum() << searcher.find(count) << plain(count) << function(3) << local::go(count) << "\n";
	return 0;
}
