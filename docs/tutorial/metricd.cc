// metricd: collects readings of sensors and hands them to whoever has subscribed. It stands for a daemon that runs on a board for
// weeks and grows. docs/tutorial.md finds out why.
//
//     metricd [SECONDS]      ends after so long, or when it is told to (SIGTERM)
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

static volatile std::sig_atomic_t told_to_end;

struct Reading {
	std::string sensor;
	double value;
};

// What a client has asked for, and has not fetched yet.
class Subscriber {
public:
	explicit Subscriber(std::string client) : client_(std::move(client)), pending_(512)
	{
	}
	void offer(double value)
	{
		pending_[next_++ % pending_.size()] = value;
	}

private:
	std::string client_;
	std::vector<double> pending_;
	size_t next_ = 0;
};

class Hub {
public:
	// Clients come again whenever their network was away.
	void subscribe(int client)
	{
		subscribers_[client] = new Subscriber("client " + std::to_string(client) + " of the plant's control room");
	}
	void publish(const Reading &reading)
	{
		for (auto &[client, subscriber] : subscribers_)
			subscriber->offer(reading.value);
	}
	~Hub()
	{
		for (auto &[client, subscriber] : subscribers_)
			delete subscriber;
	}

private:
	std::map<int, Subscriber *> subscribers_;
};

// The last minute of all readings: it fills, and then it stays as it is.
class History {
public:
	void add(Reading reading)
	{
		readings_.push_back(std::move(reading));
		if (readings_.size() > 2000)
			readings_.pop_front();
	}

private:
	std::deque<Reading> readings_;
};

static Reading parse(const std::string &line)
{
	std::vector<std::string> words;
	size_t from = 0;

	while (from < line.size()) {
		size_t to = line.find(' ', from);
		to = to == std::string::npos ? line.size() : to;
		words.push_back(line.substr(from, to - from));
		from = to + 1;
	}
	return {words.at(1), std::atof(words.at(3).c_str())};
}

int main(int argc, char **argv)
{
	const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(argc > 1 ? std::atoi(argv[1]) : 1 << 30);
	Hub hub;
	History history;

	std::signal(SIGTERM, [](int) { told_to_end = 1; });
	for (unsigned i = 0; !told_to_end && std::chrono::steady_clock::now() < end; i++) {
		Reading reading = parse("sensor boiler-temperature-" + std::to_string(i % 40) + " = " + std::to_string(i % 977));
		hub.publish(reading);
		history.add(std::move(reading));
		if (i % 20 == 0)
			hub.subscribe(static_cast<int>(i / 20 % 25));
		std::this_thread::sleep_for(std::chrono::milliseconds(1));
	}
	std::puts("metricd: done");
	return 0;
}
