/*
 * Bytes of users, counted by several workers (net/users.h counts in itself where there is one). In
 * memory that they share; each writes into cells of its own, so no lock is taken and nothing is
 * lost when one dies. The table of names only grows: who is gone may come back.
 */
#ifndef NET_LEDGER_H
#define NET_LEDGER_H

#include <stdint.h>

struct ledger;

/* For `names` names at least and so many workers; reserved, not touched. Before they are forked.
 * NULL with errno. crypto_open() has run. */
struct ledger *ledger_open(uint32_t names, unsigned workers);
void ledger_close(struct ledger *ledger);

/* In a worker: its cells are these. */
void ledger_start(struct ledger *ledger, unsigned place);

/* The entry of a user of this service, made if there is none. 0: there is no room. */
uint32_t ledger_entry(struct ledger *ledger, uint32_t service, const char *name);

/* Count for an entry (0: nobody's); and what all have counted. */
void ledger_add(struct ledger *ledger, uint32_t entry, uint64_t up, uint64_t down);
void ledger_sum(const struct ledger *ledger, uint32_t entry, uint64_t *up, uint64_t *down);

#endif
