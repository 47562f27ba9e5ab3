"""The data base that collectors share, for tests/bench/fleet growth: its servers (fleet-cluster), and what is in it."""
import os
import subprocess
import urllib.parse
import urllib.request

HERE = os.path.dirname(os.path.realpath(__file__))


class Cluster:
    """Two shards of ClickHouse, of which the first has a replica, and ZooKeeper."""

    def __init__(self, build, folder):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("HEAPCAST")}
        self.script = subprocess.Popen([f"{HERE}/fleet-cluster"], env=environment | {"HEAPCAST_BUILD": os.path.realpath(build), "TMPDIR": folder},
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.servers, self.hosts, said = [], [], ""
        while said != "ready":
            line = self.script.stdout.readline()
            said, *values = line.split() or [""]
            if said == "clickhouse":
                self.servers.append(int(values[0]))
                self.hosts.append(values[1])
            elif said == "zookeeper":
                self.zookeeper = int(values[0])
            elif said == "store":
                self.url = values[0]
            elif said != "ready":
                raise SystemExit(f"no cluster of ClickHouse: {line}{self.script.stdout.read()}")

    def sql(self, statement, server=0):
        """Rows of an answer."""
        request = urllib.request.Request(f"http://{self.hosts[server]}/?" + urllib.parse.urlencode({"database": "heaps"}), data=statement.encode())
        with urllib.request.urlopen(request, timeout=60) as answer:
            return [line.split("\t") for line in answer.read().decode().splitlines()]

    def number(self, statement, server=0):
        return int(self.sql(statement, server)[0][0])

    def there(self, minute):
        """Streams whose sums of this minute can be asked for."""
        return self.number(f"SELECT count() FROM (SELECT stream, max(sent_to) AS sent FROM streams GROUP BY stream) WHERE sent > {minute}")

    def rows(self, minute):
        """Sums of this minute, once each."""
        return self.number(f"SELECT count() FROM sums WHERE minute = {minute}")

    def row_bytes(self):
        """Of a sum, on the disk of one server: in the middle of all servers."""
        parts = [self.sql("SELECT sum(bytes_on_disk), sum(rows) FROM system.parts WHERE active AND database = 'heaps' AND table = 'sums_local'", i)[0]
                 for i in range(len(self.hosts))]
        return sum(int(p[0]) for p in parts) / sum(int(p[1]) for p in parts)

    def all_bytes(self):
        """Of all tables, on all servers."""
        return sum(self.number("SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database = 'heaps'", i) for i in range(len(self.hosts)))

    def end(self):
        self.script.stdin.close()
        self.script.wait()
