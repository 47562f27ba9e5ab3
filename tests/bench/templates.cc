// What cc1plus compiles without optimising: templates that make templates. It is never run.
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

template <unsigned N> struct fibonacci {
	static constexpr unsigned long value = fibonacci<N - 1>::value + fibonacci<N - 2>::value;
};
template <> struct fibonacci<0> {
	static constexpr unsigned long value = 0;
};
template <> struct fibonacci<1> {
	static constexpr unsigned long value = 1;
};

template <unsigned N> struct tagged {
	std::array<char, N + 1> bytes;
	std::string name() const
	{
		return "tagged-" + std::to_string(N);
	}
};

template <std::size_t... I> auto many(std::index_sequence<I...>)
{
	return std::make_tuple(tagged<I>{}...);
}

template <typename Tuple, std::size_t... I>
std::vector<std::string> names(const Tuple &all, std::index_sequence<I...>)
{
	std::vector<std::string> found;

	(found.push_back(std::get<I>(all).name()), ...);
	return found;
}

template <typename... T> struct overloaded : T... {
	using T::operator()...;
};
template <typename... T> overloaded(T...) -> overloaded<T...>;

template <unsigned N> struct board {
	std::map<std::string, std::variant<int, double, std::string, tagged<N>>> values;
	std::optional<std::function<std::string(const tagged<N> &)>> describe;

	std::vector<std::string> all() const
	{
		std::vector<std::string> found;

		for (const auto &[name, value] : values)
			found.push_back(std::visit(
				overloaded{[](int x) { return std::to_string(x); },
					   [](double x) { return std::to_string(x); },
					   [](const std::string &x) { return x; },
					   [&](const tagged<N> &x) {
						   return describe ? (*describe)(x) : x.name();
					   }},
				value));
		return found;
	}
};

template <unsigned N> std::size_t count()
{
	board<N> b;

	b.values.emplace("n", tagged<N>{});
	b.describe = [](const tagged<N> &x) { return x.name(); };
	if constexpr (N > 0)
		return b.all().size() + count<N - 1>();
	else
		return b.all().size();
}

int main()
{
	using sequence = std::make_index_sequence<30>;

	return static_cast<int>(names(many(sequence{}), sequence{}).size() + count<0>() +
				fibonacci<300>::value);
}
