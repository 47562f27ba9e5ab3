/*
 * Built-in suppressions: blocks that the C and C++ libraries keep by design until the program ends.
 * Each is tied to its library, so that a program's function of the same name does not match. A row
 * without a function matches all functions of its library whose names are unknown.
 */
#include "collector/query/match/suppress.h"

#include "base/ban.h"

#define LIBC   "/libc.so."
#define LOADER "/ld-linux"
#define ANY    NULL, false
#define SITE   NULL, true

#define LOCALE	"locales, kept for the next call"
#define GETTEXT "message catalogues, kept for the next call"
#define LINKMAP "the loader's list of libraries, kept until dlclose"
#define NSS	"the name service's configuration"
#define RESULT	"the buffer of a function that returns static storage"

/* Names of libc and the loader are compared without "__GI_" at the front. */
const struct known_suppression known_suppressions[] = {
	/* setlocale: what was loaded, and aliases of names */
	{"^setlocale$", LIBC, ANY, LOCALE},
	{"^newlocale$", LIBC, SITE, LOCALE},
	{"^_nl_find_locale$", LIBC, ANY, LOCALE},
	{"^_nl_load_locale*", LIBC, ANY, LOCALE},
	{"^_nl_expand_alias$", LIBC, ANY, LOCALE},
	{"^__wcsmbs_load_conv$", LIBC, ANY, LOCALE},
	/* gettext */
	{"^_nl_find_domain$", LIBC, ANY, GETTEXT},
	{"^_nl_load_domain$", LIBC, ANY, GETTEXT},
	{"^__dcigettext$", LIBC, ANY, GETTEXT},
	{"^dcgettext$", LIBC, ANY, GETTEXT},
	{"^textdomain$", LIBC, ANY, GETTEXT},
	{"^bindtextdomain$", LIBC, ANY, GETTEXT},
	{"^set_binding_values$", LIBC, ANY, GETTEXT},
	/* the loader */
	{"^_dl_new_object$", LOADER, ANY, LINKMAP},
	{"^_dl_map_object_deps$", LOADER, SITE, LINKMAP},
	{"^_dl_check_map_versions$", LOADER, SITE, LINKMAP},
	{"^add_to_global_*", LOADER, SITE, LINKMAP},
	{"^_dlfo_mappings_segment_allocate$", LOADER, ANY, LINKMAP},
	{"^_dl_find_object_*", LOADER, ANY, LINKMAP},
	/* /etc/nsswitch.conf, once */
	{"^__nss_module_allocate$", LIBC, ANY, NSS},
	{"^__nss_action_allocate$", LIBC, ANY, NSS},
	{"^nss_action_parse$", LIBC, ANY, NSS},
	{"^global_state_allocate$", LIBC, ANY, NSS},
	/* getpwuid() and so on: one buffer for each function, which grows */
	{"^getpw*", LIBC, SITE, RESULT},
	{"^getgr*", LIBC, SITE, RESULT},
	{"^gethostby*", LIBC, SITE, RESULT},
	{"^getserv*", LIBC, SITE, RESULT},
	{"^getproto*", LIBC, SITE, RESULT},
	/* stdout and stderr are never closed. A FILE that fopen made is still shown: it has a block
	 * of its own. */
	{"^_IO_file_doallocate$", LIBC, SITE, "buffers of stdio"},
	{"^_IO_wfile_doallocate$", LIBC, SITE, "buffers of stdio"},
	{"^tzset_internal$", LIBC, ANY, "the time zone"},
	{"^__tzfile_read$", LIBC, ANY, "the time zone"},
	{"^__tzstring*", LIBC, ANY, "the time zone"},
	{"^__new_exitfn$", LIBC, SITE, "handlers of atexit"},
	{"^__add_to_environ$", LIBC, SITE, "the environment, which getenv lends out"},
	/* Memory for exceptions when there is no other. A constructor of the library itself
	 * allocates it, and has a name only with debug information. */
	{"^(anonymous namespace)::pool::pool*", "/libstdc++.so", SITE, "the emergency pool"},
	{NULL, "/libstdc++.so", LOADER, true, "the emergency pool"},
	/* GLib never forgets a quark, an interned text or a static type. */
	{"^g_quark_*", "/libglib-2.0.so", ANY, "quarks of GLib"},
	{"^g_intern_*", "/libglib-2.0.so", ANY, "interned texts of GLib"},
	{"^g_type_register_*", "/libgobject-2.0.so", ANY, "types of GObject"},
	{"^gobject_init*", "/libgobject-2.0.so", ANY, "types of GObject"},
};
const size_t known_suppressions_count = sizeof(known_suppressions) / sizeof(known_suppressions[0]);
