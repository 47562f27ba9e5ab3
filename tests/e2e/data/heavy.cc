// Work for a C++ compiler: templates that instantiate templates. No headers, so it is the same on every machine.
template <unsigned... I> struct sequence {};

template <unsigned N, unsigned... I> struct make_sequence : make_sequence<N - 1, N - 1, I...> {};
template <unsigned... I> struct make_sequence<0, I...> {
	using type = sequence<I...>;
};

template <unsigned N> struct fibonacci {
	static constexpr unsigned long long value = fibonacci<N - 1>::value + fibonacci<N - 2>::value;
};
template <> struct fibonacci<0> {
	static constexpr unsigned long long value = 0;
};
template <> struct fibonacci<1> {
	static constexpr unsigned long long value = 1;
};

template <class T, unsigned N> struct nested {
	using inner = nested<nested<T, 0>, N - 1>;
	T value;
	template <class F> auto map(F f) const { return nested<decltype(f(value)), N>{f(value)}; }
};
template <class T> struct nested<T, 0> {
	T value;
	template <class F> auto map(F f) const { return nested<decltype(f(value)), 0>{f(value)}; }
};

template <class... T> struct tuple;
template <> struct tuple<> {
	constexpr unsigned long long sum() const { return 0; }
};
template <class H, class... T> struct tuple<H, T...> : tuple<T...> {
	H head{};
	constexpr unsigned long long sum() const { return head + static_cast<const tuple<T...> &>(*this).sum(); }
};

template <unsigned N> struct number {
	unsigned long long value = fibonacci<N % 60>::value;
	constexpr operator unsigned long long() const { return value; }
};

template <class> struct tuple_of;
template <unsigned... I> struct tuple_of<sequence<I...>> {
	using type = tuple<number<I>...>;
};

template <unsigned A, unsigned B> struct grid {
	static constexpr unsigned long long value = grid<A - 1, B>::value + grid<A, B - 1>::value;
};
template <unsigned B> struct grid<0, B> {
	static constexpr unsigned long long value = 1;
};
template <unsigned A> struct grid<A, 0> {
	static constexpr unsigned long long value = 1;
};

template <unsigned N> unsigned long long climb(unsigned long long x)
{
	auto twice = nested<unsigned long long, N % 7>{x}.map([](auto v) { return v * 2; });
	return twice.map([](auto v) { return v + N; }).value + climb<N - 1>(x ^ N);
}
template <> unsigned long long climb<0>(unsigned long long x)
{
	return x;
}

int main(int argc, char **)
{
	typename tuple_of<typename make_sequence<160>::type>::type numbers;
	return static_cast<int>((numbers.sum() + grid<22, 22>::value + climb<120>(argc)) & 1);
}
