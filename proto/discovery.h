#pragma once
/*
 * Constants of discovery, by which agents and collectors find each other. proto/README.md,
 * "Discovery".
 */
#define DISCOVERY_UDP_PORT     43513
#define DISCOVERY_BEACON_MAGIC 0x48435354u
#define DISCOVERY_PROBE_MAGIC  0x48435350u
/* magic of a beacon of an agent that waits for pairing */
#define DISCOVERY_PAIRING_MAGIC 0x48435041u
#define DISCOVERY_BEACON_MAX	512 /* longest beacon or probe, in bytes */
#define DISCOVERY_PROBE_SIZE	160 /* no answer is longer than a probe */
#define DISCOVERY_NONCE_SIZE	16
#define DISCOVERY_INTERVAL_MS	1000
/*
 * Link-local (scope 2) and not permanently assigned (flag T): RFC 4291, 2.7. The group number is
 * from the range for such groups: RFC 3307, 4.3.
 */
#define DISCOVERY_GROUP	     "ff12::c843:5354"
#define AGENT_TCP_PORT_FIRST 8100
#define AGENT_TCP_PORT_LAST  8200
#define PROTOCOL_VERSION     1
#define STREAM_ID_SIZE	     16
