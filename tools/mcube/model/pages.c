// SPDX-License-Identifier: GPL-2.0
/*
 * The true miss rate of each page, for comparison with what a guest finds by
 * sampling.
 *
 *	demand requests --> counts by page frame
 *	                          |  mark: the guest ends an interval
 *	                          v
 *	FILE:  | head, records of interval 1 | head, records of interval 2 | ...
 *
 * The guest decides when an interval ends (SIM_CTL_PAGES), and the host reads the
 * file. At a mark the frames that had requests go to the file, in the order of their
 * numbers, and all counts return to 0. So the counts of an interval are exact, and
 * there are no differences to take. The first interval begins when the model starts.
 *
 * The counts lie outside the memory that the guest sees: a guest that could read
 * the counts would add requests of its own to them.
 */
#include "pages.h"

#include <stdlib.h>
#include <string.h>

/**
 * pages_init - count by page frame
 * @p:		set up here
 * @ram_bytes:	RAM of the guest
 * @path:	file for the blocks, written anew
 *
 * After a failure pages_free() frees what was allocated.
 *
 * Return: false if memory is short or the file cannot be written.
 */
bool pages_init(struct pages *p, uint64_t ram_bytes, const char *path)
{
	memset(p, 0, sizeof(*p));
	p->count = calloc(ram_bytes >> FRAME_SHIFT, sizeof(*p->count));
	if (!p->count)
		return false;
	p->frames = ram_bytes >> FRAME_SHIFT;
	p->out = fopen(path, "wb");
	return p->out;
}

/**
 * pages_free - close the file and free the counts
 * @p:	the counts
 */
void pages_free(struct pages *p)
{
	if (p->out)
		fclose(p->out);
	free(p->count);
	memset(p, 0, sizeof(*p));
}

/**
 * pages_mark - end an interval: write its counts to the file, and begin anew
 * @p:	the counts
 *
 * Return: false if the file cannot be written.
 */
bool pages_mark(struct pages *p)
{
	struct pages_block head = { .magic = PAGES_MAGIC, .mark = ++p->marks };

	for (uint64_t i = 0; i < p->frames; i++)
		head.records += p->count[i].refs != 0;
	fwrite(&head, sizeof(head), 1, p->out);
	for (uint64_t i = 0; i < p->frames; i++) {
		struct pages_record r = {
			.frame = i, .refs = p->count[i].refs, .misses = p->count[i].misses,
		};

		if (r.refs)
			fwrite(&r, sizeof(r), 1, p->out);
	}
	memset(p->count, 0, p->frames * sizeof(*p->count));
	return !fflush(p->out) && !ferror(p->out);
}
