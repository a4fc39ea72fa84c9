/* places.h - reads --fields: where the id, keys, deltas and time of an event are.
 *
 *   id=1,key=2,delta=3         columns by number
 *   id=request,key=user        columns by the names in a header, or members of a JSON object
 *   id=meta.id, id=/meta/id    a member within a member; the second is a JSON pointer (RFC 6901)
 *   key="a, b"                 in quotes, a name as it is; a quote in it is doubled
 *   key=:clicks                after a colon, a literal: the same in every event
 *   key=page,key=country       several keys: one operation with several changes
 *   id=source,id=number        several ids: one id made of them (lethe/id.h)
 *   delta=bytes,delta=:1       one delta for all keys, or one for each, in their order
 *   time=day,time=clock        two times: a day and a time of day, in two fields */
#ifndef LETHE_CLI_EVENTS_PLACES_H
#define LETHE_CLI_EVENTS_PLACES_H

#include "events/format.h"

/* Reads options->fields, or what stands for it, into a format that has its kind. Returns false
 * after saying what is wrong. */
bool event_places_read(const struct event_format_options *options, struct event_format *format,
                       struct event_problem *problem);

/* Writes a place as --fields would have it. Returns its length; not all may have found room. */
size_t event_place_describe(const struct event_format *format, const struct event_place *place,
                            char *out, size_t room);

#endif
