/* Reads the daemon's options from their sources. See serve_options.h. */
#include "agent/cli/serve_options.h"

#include <errno.h>
#include <unistd.h>

#include "agent/cli/command.h"
#include "agent/cli/daemon_socket.h"
#include "agent/cli/options/config.h"
#include "agent/cli/options/values.h"
#include "agent/cli/options/variables.h"
#include "base/error.h"
#include "base/log.h"
#include "base/ban.h"

/* Reads all sources; without the file if `file` is NULL. Returns as options_arguments does. */
static int serve_options_read_all(const struct serve_options *from, const char *file,
				  struct options *o, char **ret_text, struct err_text *err)
{
	int r = 0;

	options_defaults(o);
	if (file)
		r = config_read(o, COMMAND_SERVE, file, ret_text, err);
	if (!r)
		r = variables_read(o, COMMAND_SERVE, &options_own_environment, err);
	if (!r)
		r = options_arguments(o, COMMAND_SERVE, from->argc, from->argv, err);
	options_choose_policy(o, COMMAND_SERVE);
	return r;
}

/* Uses the default file if it exists and the user named no file. */
static void look_for_file(struct serve_options *from)
{
	if (from->any_file)
		from->file = access(CONFIG_DEFAULT, F_OK) == 0 ? CONFIG_DEFAULT : NULL;
}

int serve_options_open(struct serve_options *from, int argc, char **argv, struct options *o,
		       char **ret_text, struct err_text *err)
{
	int r;

	*from = (struct serve_options){.argc = argc, .argv = argv};
	r = serve_options_read_all(from, NULL, o, ret_text, err);
	if (r < 0 || o->from.help)
		return r < 0 ? r : 0;
	if (r < argc)
		return err_set(err, -EINVAL,
			       "serve takes no '%s' (did you mean `agent run -- %s`?)", argv[r],
			       argv[r]);
	from->file = o->config && *o->config ? o->config : NULL;
	from->any_file = !o->config && !o->for_pid;
	return serve_options_read(from, o, ret_text, err);
}

int serve_options_read(struct serve_options *from, struct options *o, char **ret_text,
		       struct err_text *err)
{
	int r;

	look_for_file(from);
	*ret_text = NULL;
	r = serve_options_read_all(from, from->file, o, ret_text, err);
	return r < 0 ? r : 0;
}

int serve_options_check(const struct serve_options *from, const struct options *given,
			struct err_text *err)
{
	struct options o = *given;
	struct agent_settings settings;
	char name[DAEMON_SOCKET_NAME_MAX];
	int r = command_settings(&o, &settings, err);

	if (!r)
		r = command_secure(&o, &settings, err);
	if (!r)
		r = command_log_level(&o, "info", err);
	if (r < 0)
		return r;
	o.paired = settings.secure.paired;
	daemon_socket_default(name, sizeof(name));
	o.socket = o.socket ? o.socket : name;
	o.log = o.log ? o.log : "info";
	options_print(&o, COMMAND_SERVE, from->file);
	return 0;
}
