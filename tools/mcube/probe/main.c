// SPDX-License-Identifier: GPL-2.0
/*
 * mcube-probe: time this machine, for the mcube command
 *
 *	mcube-probe SUBCOMMAND [OPTIONS]
 *
 * The C core of 'mcube map probe', 'mcube map verify' and 'mcube estimate'.  It prints lines
 * of JSON (probe.h), changes no setting of the machine, and leaves nothing behind when it
 * ends, whatever ends it.
 */
#include "probe.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "timing.h"

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ "banks", probe_banks },
	{ "color", probe_color },
	{ "estimate", probe_estimate },
	{ "offsets", probe_offsets },
};

/* A text in quotes. */
static void print_text(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			putchar('\\');
		if ((unsigned char)*text >= ' ')
			putchar(*text);
	}
	putchar('"');
}

/**
 * fail - print the last line of a subcommand that cannot go on
 * @next:	what to do
 * @format:	what is wrong
 *
 * Return: 1, the exit status.
 */
int fail(const char *next, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	printf("{\"error\": ");
	print_text(text);
	printf(", \"next\": ");
	print_text(next);
	printf("}\n");
	return 1;
}

/**
 * progress - say how far the work is, twice a second at most
 * @share:	0 to 1 of it is done
 */
void progress(double share)
{
	static struct timespec begin, last;
	struct timespec now;
	double so_far;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!begin.tv_sec) {
		begin = now;
		last = now;
	}
	if (now.tv_sec - last.tv_sec + (now.tv_nsec - last.tv_nsec) / 1e9 < .5)
		return;
	last = now;
	/* Work that is done again was not foreseen. */
	if (share > 1)
		share = 1;
	so_far = now.tv_sec - begin.tv_sec + (now.tv_nsec - begin.tv_nsec) / 1e9;
	printf("{\"%s\": %.3f, \"left_s\": %.0f}\n", __func__, share,
	       share > 0 ? so_far / share - so_far : 0);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const char *bad;

	for (size_t i = 0; argc > 1 && i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strcmp(argv[1], commands[i].name))
			continue;
		bad = clock_init();
		if (bad)
			return fail("run it on an x86-64 CPU of this century", "%s", bad);
		return commands[i].run(argc - 1, argv + 1);
	}
	return fail("it is for the mcube command; see 'mcube --help'", "no such subcommand");
}
