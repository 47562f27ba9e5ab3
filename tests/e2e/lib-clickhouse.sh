# Real ClickHouse servers for tests: Debian's, each on loopback, on free ports, in a folder of its own below $T. lib.sh kills them at
# the end. Sourced after lib.sh:   . "$TEST_SOURCE/lib-clickhouse.sh"
#
#   clickhouse_need [cluster]   skips the test if the server (for a cluster: Java, ZooKeeper) is not there
#   clickhouse_one              starts one server, number 1
#   clickhouse_cluster          starts ZooKeeper and the cluster `heap`: servers 1 and 2 are the replicas of its first shard, 3 is
#                               its second one
#   clickhouse_start N...       starts servers again, and waits until they answer
#   clickhouse_kill N...        kill -9
#   clickhouse_end N...         SIGTERM, and waits
#   clickhouse_hosts [N...]     their hosts, as they stand in a URL: 127.0.0.1:20001,127.0.0.1:20002; all without N
#   clickhouse_certificate      makes $T/cert.pem for localhost; servers that start later answer by TLS, too, at clickhouse_tls_host N
#   clickhouse_sql N SQL        what server N answers to a statement
#   says EXPECTED ARG...        checks what the client (e2e-clickhouse) prints
#   fails TEXT ARG...           checks that it fails, and that its error has the text, but not the password "hush"
#   clickhouse_log N            the errors that server N logged
#   zookeeper_kill, zookeeper_start
#
# Variables for before the start: CLICKHOUSE_PASSWORD, that of user `default`.
CLICKHOUSE_JARS=/usr/share/java
CLICKHOUSE_PASSWORD=
clickhouse_pids=() clickhouse_ports=() clickhouse_all=() clickhouse_kind=
clickhouse_next_port=$((20000 + 40 * (RANDOM % 250)))

# That of deploy/unpack-clickhouse, or an installed one.
clickhouse_program() {
	if [ -x "$ROOT/build/clickhouse/clickhouse-server" ]; then
		echo "$ROOT/build/clickhouse/clickhouse-server"
	else
		command -v clickhouse-server
	fi
}

clickhouse_need() { # [cluster]
	local program
	program=$(clickhouse_program) ||
		skip "there is no ClickHouse server: deploy/install-packages clickhouse, deploy/unpack-clickhouse build/clickhouse"
	"$program" --help >"$T/clickhouse-help" 2>&1 || true
	! grep -q "error while loading" "$T/clickhouse-help" || skip "ClickHouse's server does not start: $(cat "$T/clickhouse-help")"
	need curl
	[ "${1-}" = cluster ] || return 0
	need java
	[ -e $CLICKHOUSE_JARS/zookeeper.jar ] || skip "ZooKeeper (libzookeeper-java) is not installed"
}

# A port of loopback that nobody has.
clickhouse_free_port() { # VARIABLE
	while grep -qi ":$(printf %04X "$clickhouse_next_port") " /proc/net/tcp /proc/net/tcp6; do
		clickhouse_next_port=$((clickhouse_next_port + 1))
	done
	printf -v "$1" %d "$clickhouse_next_port"
	clickhouse_next_port=$((clickhouse_next_port + 1))
}

# Ports of a server: HTTP, between servers (questions; parts), HTTP by TLS.
clickhouse_choose_ports() { # N
	local a b c d
	clickhouse_free_port a
	clickhouse_free_port b
	clickhouse_free_port c
	clickhouse_free_port d
	clickhouse_ports[$1]="$a $b $c $d"
	clickhouse_all+=("$1")
}

clickhouse_replica() { # N: as remote_servers has it
	local http tcp _
	read -r http tcp _ <<<"${clickhouse_ports[$1]}"
	echo "<replica><host>127.0.0.1</host><port>$tcp</port><user>default</user><password>$CLICKHOUSE_PASSWORD</password></replica>"
}

clickhouse_cluster_config() { # N
	local shard=1
	[ "$1" != 3 ] || shard=2
	cat <<-X
		<remote_servers><heap>
		<shard><internal_replication>true</internal_replication>$(clickhouse_replica 1)$(clickhouse_replica 2)</shard>
		<shard><internal_replication>true</internal_replication>$(clickhouse_replica 3)</shard>
		</heap></remote_servers>
		<zookeeper><node><host>127.0.0.1</host><port>$zookeeper_port</port></node><session_timeout_ms>6000</session_timeout_ms></zookeeper>
		<macros><shard>$shard</shard><replica>server$1</replica></macros>
	X
}

clickhouse_certificate() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$T/key.pem" -out "$T/cert.pem" -days 3 \
		-subj /CN=localhost -addext subjectAltName=DNS:localhost 2>"$T/openssl.err"
}

clickhouse_tls_config() { # PORT
	cat <<-X
		<https_port>$1</https_port><openSSL><server><certificateFile>$T/cert.pem</certificateFile>
		<privateKeyFile>$T/key.pem</privateKeyFile><verificationMode>none</verificationMode>
		<loadDefaultCAFile>false</loadDefaultCAFile></server></openSSL>
	X
}

clickhouse_tls_host() { # N
	local http tcp between tls
	read -r http tcp between tls <<<"${clickhouse_ports[$1]}"
	echo "localhost:$tls"
}

clickhouse_configure() { # N
	local d=$T/clickhouse-$1 http tcp between tls
	read -r http tcp between tls <<<"${clickhouse_ports[$1]}"
	rm -rf "$d"
	mkdir -p "$d/data" "$d/tmp" "$d/user_files" "$d/format_schemas"
	# Tables forget what they remember too much of each second, not each half minute.
	# The root element of today's servers is clickhouse; they take this one, too.
	cat >"$d/config.xml" <<-X
		<yandex>
		<logger><level>warning</level><log>$d/log</log><errorlog>$d/errors</errorlog><size>10M</size><count>1</count></logger>
		<http_port>$http</http_port><tcp_port>$tcp</tcp_port>
		<interserver_http_port>$between</interserver_http_port><interserver_http_host>127.0.0.1</interserver_http_host>
		<listen_host>127.0.0.1</listen_host><keep_alive_timeout>3</keep_alive_timeout>
		<path>$d/data/</path><tmp_path>$d/tmp/</tmp_path><user_files_path>$d/user_files/</user_files_path>
		<format_schema_path>$d/format_schemas/</format_schema_path><users_config>$d/users.xml</users_config>
		<default_profile>default</default_profile><default_database>default</default_database><timezone>UTC</timezone>
		<merge_tree><cleanup_delay_period>1</cleanup_delay_period><cleanup_delay_period_random_add>0</cleanup_delay_period_random_add></merge_tree>
		<mark_cache_size>33554432</mark_cache_size><uncompressed_cache_size>0</uncompressed_cache_size>
		$([ ! -e "$T/cert.pem" ] || clickhouse_tls_config "$tls")
		$([ "$clickhouse_kind" != cluster ] || clickhouse_cluster_config "$1")
		</yandex>
	X
	cat >"$d/users.xml" <<-X
		<yandex>
		<profiles><default><max_memory_usage>1000000000</max_memory_usage></default></profiles>
		<users><default><password>$CLICKHOUSE_PASSWORD</password><networks><ip>127.0.0.1</ip></networks>
		<profile>default</profile><quota>default</quota></default></users>
		<quotas><default></default></quotas>
		</yandex>
	X
}

clickhouse_answers() { # N
	local http _
	read -r http _ <<<"${clickhouse_ports[$1]}"
	kill -0 "${clickhouse_pids[$1]}" 2>/dev/null || fail "ClickHouse $1 ended: $(tail -n 5 "$T/clickhouse-$1/out" "$T/clickhouse-$1/errors" 2>&1)"
	[ "$(curl -s -m 5 "http://127.0.0.1:$http/ping")" = Ok. ]
}

clickhouse_start() { # N...
	local n
	for n; do
		"$(clickhouse_program)" --config-file="$T/clickhouse-$n/config.xml" >"$T/clickhouse-$n/out" 2>&1 3>&- &
		clickhouse_pids[$n]=$!
	done
	for n; do wait_for 20 "ClickHouse $n to answer" clickhouse_answers "$n"; done
}

clickhouse_kill() { # N...
	local n
	for n; do
		kill -KILL "${clickhouse_pids[$n]}"
		wait "${clickhouse_pids[$n]}" 2>/dev/null || true
	done
}

clickhouse_end() { # N...
	local n
	for n; do kill -TERM "${clickhouse_pids[$n]}"; done
	for n; do wait "${clickhouse_pids[$n]}" 2>/dev/null || true; done
}

clickhouse_one() {
	clickhouse_kind=one
	clickhouse_choose_ports 1
	clickhouse_configure 1
	clickhouse_start 1
}

zookeeper_answers() {
	kill -0 "$zookeeper_pid" 2>/dev/null || fail "ZooKeeper ended: $(cat "$T/zookeeper/out")"
	(exec 4<>"/dev/tcp/127.0.0.1/$zookeeper_port") 2>/dev/null
}

# Four of its libraries are enough for a server, and a JVM that does not compile much is ready sooner.
zookeeper_start() {
	local jars=$CLICKHOUSE_JARS
	mkdir -p "$T/zookeeper"
	[ -n "${zookeeper_port:-}" ] || clickhouse_free_port zookeeper_port
	printf '%s\n' tickTime=500 "dataDir=$T/zookeeper/data" "clientPort=$zookeeper_port" clientPortAddress=127.0.0.1 \
		admin.enableServer=false maxSessionTimeout=30000 >"$T/zookeeper/zoo.cfg"
	java -Xmx128m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dzookeeper.forceSync=no -Dzookeeper.preAllocSize=1024 \
		-cp "$jars/zookeeper.jar:$jars/zookeeper-jute.jar:$jars/slf4j-api.jar:$jars/slf4j-nop.jar" \
		org.apache.zookeeper.server.quorum.QuorumPeerMain "$T/zookeeper/zoo.cfg" >"$T/zookeeper/out" 2>&1 3>&- &
	zookeeper_pid=$!
	wait_for 20 "ZooKeeper to listen" zookeeper_answers
}

zookeeper_kill() {
	kill -KILL "$zookeeper_pid"
	wait "$zookeeper_pid" 2>/dev/null || true
}

clickhouse_cluster() {
	local n
	clickhouse_kind=cluster
	zookeeper_start
	for n in 1 2 3; do clickhouse_choose_ports $n; done
	for n in 1 2 3; do clickhouse_configure $n; done
	clickhouse_start 1 2 3
}

clickhouse_hosts() { # [N...]
	local n http _ text=
	[ $# -gt 0 ] || set -- "${clickhouse_all[@]}"
	for n; do
		read -r http _ <<<"${clickhouse_ports[$n]}"
		text+=,127.0.0.1:$http
	done
	echo "${text#,}"
}

clickhouse_sql() { # N SQL
	local status=0
	curl -sS -m 60 --fail-with-body -H 'Expect:' -H "X-ClickHouse-User: default" ${CLICKHOUSE_PASSWORD:+-H "X-ClickHouse-Key: $CLICKHOUSE_PASSWORD"} \
		--data-binary "$2" "http://$(clickhouse_hosts "$1")/?wait_end_of_query=1" || status=$?
	return $status
}

clickhouse_log() { # N
	cat "$T/clickhouse-$1/errors"
}

says() { # EXPECTED CLIENT-ARGUMENT...
	local expected=$1
	shift
	assert_eq "what the client says to ${*:2}" "$expected" "$("$BUILD/tests/e2e-clickhouse" "$@")"
}

fails() { # TEXT CLIENT-ARGUMENT...
	local text=$1 status=0
	shift
	"$BUILD/tests/e2e-clickhouse" "$@" >"$T/failed" || status=$?
	assert_eq "exit status of ${*:2}" 1 $status
	assert_contains "the error of ${*:2}" "$T/failed" "$text"
	if grep -q hush "$T/failed"; then fail "an error tells the password: $(cat "$T/failed")"; fi
}
