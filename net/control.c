/*
 * See control.h. A table of addresses, each with its associations.
 */
#include "net/control.h"

#include "net/assoc.h"

#include <sodium.h>

int controls_open(struct controls *controls, uint32_t max)
{
	*controls = (struct controls){ 0 };
	randombytes_buf(controls->hash_key, sizeof controls->hash_key);
	return slab_open(&controls->slab, sizeof(struct control), max);
}

void controls_close(struct controls *controls)
{
	slab_close(&controls->slab);
}

/* Where it stands, or would stand, in its bucket. */
static struct control **place_of(struct controls *controls, const struct address *address)
{
	unsigned char hash[crypto_shorthash_BYTES];
	struct control **at;

	crypto_shorthash(hash, address->ip, address_len(address), controls->hash_key);
	at = &controls->buckets[hash[0]];
	while (*at && !address_equal(&(*at)->address, address))
		at = &(*at)->next;
	return at;
}

struct control *control_join(struct controls *controls, const struct address *address)
{
	struct control **at = place_of(controls, address), *control = *at;

	if (!control) {
		control = slab_take(&controls->slab);
		if (!control)
			return NULL;
		control->address = *address;
		list_init(&control->bound);
		*at = control;
	}
	control->connections++;
	return control;
}

void control_leave(struct controls *controls, struct control *control)
{
	if (--control->connections > 0)
		return;
	while (!list_empty(&control->bound))
		assoc_close(container_of(control->bound.next, struct assoc, bound),
			    "its SOCKS5 connection was closed");
	*place_of(controls, &control->address) = control->next;
	slab_give(&controls->slab, control);
}

bool control_exists(struct controls *controls, const struct address *address)
{
	return controls->slab.live > 0 && *place_of(controls, address);
}

void control_bind(struct controls *controls, struct assoc *assoc)
{
	struct address client;

	if (controls->slab.live == 0 || assoc->control)
		return;
	address_from_socket(&client, &assoc->client.any);
	assoc->control = *place_of(controls, &client);
	if (assoc->control)
		list_append(&assoc->control->bound, &assoc->bound);
}

void control_unbind(struct assoc *assoc)
{
	list_remove(&assoc->bound);
	assoc->control = NULL;
}
