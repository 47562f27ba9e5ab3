#pragma once
/* Where agents and collectors look for each other. proto/README.md, "Discovery". */
#define DISCOVERY_UDP_PORT	  43513
#define DISCOVERY_BEACON_MAGIC	  0x48435354u
#define DISCOVERY_BEACON_MAX	  512
#define DISCOVERY_INTERVAL_MS	  1000
#define AGENT_TCP_PORT_FIRST	  8100
#define AGENT_TCP_PORT_LAST	  8200
#define PROTOCOL_VERSION	  1
#define STREAM_ID_SIZE		  16
