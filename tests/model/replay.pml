/*
 * The protocol over files: a ledger on SQLite, the heads noted beside it, and what replays printed.
 * docs/dev/protocol.md maps every step to the code; check.py runs it and its broken
 * variants.
 *
 * One file of events, two windows, a wall that fits one of them. The file may be replayed under another
 * name of feed and alarm. The database may be put back to an older state (a copy, a lost -wal file), or
 * be gone; a power cut takes from the heads file what was not synced.
 */

#define WINDOWS 2
#define WALL 1
#ifndef STARTS
#define STARTS 4
#endif

#define wall 1
#define once 2
#define charged 3
#ifdef ONLY
#define PROMISE(name, holds) assert((name) != ONLY || (holds))
#else
#define PROMISE(name, holds) assert(holds)
#endif

#define NOTHING 0
#define DENIED 1
#define DRAWN 2		/* by the first run, and so on: no two draws are the same */
#define DECIDED(end) ((end) >= DRAWN)

/* The database: what is committed, and an older state of it. `entries` is how many there are. */
byte id = 1, entries, beside, marked, feed;
byte end[WINDOWS];
byte old_entries, old_beside, old_marked, old_feed;
byte old_end[WINDOWS];
bool older;		/* there is an older state */
/* The file beside it: of whose log it has a head, and how long that was; then what is on the disk. */
byte noted_id, noted, synced_id, synced;
/* What was printed, by the name that the file was replayed under. */
byte shown[2 * WINDOWS];
byte lost, starts;
bool lacked, put_right, up;

#define SPENT(w) DECIDED(end[w])
#define ROOM (beside + SPENT(0) + SPENT(1) < WALL)
#ifdef NO_HEADS
#define OLDER false
#else
#define OLDER (noted_id != 0 && (noted_id != id || noted > entries))
#endif

inline keep() {
#ifndef NO_HEADS
	noted_id = id; noted = entries;
#ifndef NO_SYNC
	synced_id = noted_id; synced = noted
#endif
#else
	skip
#endif
}

inline begin_heads() { keep(); synced_id = noted_id; synced = noted }

inline print(w) {
	PROMISE(charged, !DECIDED(end[w]) || (id != 0 && SPENT(w)));
	PROMISE(once, shown[named * WINDOWS + w] == NOTHING || shown[named * WINDOWS + w] == end[w]);
	lost = lost + (DECIDED(end[w]) && shown[named * WINDOWS + w] != end[w]);
	PROMISE(wall, lost <= WALL);
	shown[named * WINDOWS + w] = end[w]
}

inline recover(n, w) {
	if
	:: shown[n * WINDOWS + w] != NOTHING && end[w] != shown[n * WINDOWS + w] ->
		beside = beside + DECIDED(shown[n * WINDOWS + w]);
		end[w] = DENIED; marked = marked | (1 << w); entries++
	:: else -> skip
	fi
}

/* A kill between two steps: what was not stored is gone. */
#define MAY_DIE if \
	:: goto stopped \
	:: true \
	fi

#define DUE(w) (end[w] != NOTHING && !(marked & (1 << (w))))

active proctype replay() {
	byte named, w, printed;
stopped:
	atomic { up = false; w = 0; printed = 0 };
end_start:
	atomic {
		starts < STARTS ->
		starts++; up = true;
		if
		:: named = 0
		:: named = 1
		fi
	};
	/* Heads.check, before anything is registered */
	atomic {
		if
		:: OLDER -> goto stopped
		:: else -> skip
		fi;
		/* Sources: the file is known under another feed, by what it holds */
#ifdef NO_DIGEST
		if
		:: feed != 0 && feed != named + 1 -> beside = 0; end[0] = NOTHING; end[1] = NOTHING; marked = 0
		:: else -> skip
		fi;
#else
		if
		:: feed != 0 && feed != named + 1 -> goto stopped
		:: else -> skip
		fi;
#endif
		feed = named + 1;
		begin_heads();
		MAY_DIE
	};
	do
	:: atomic {
		w < WINDOWS && end[w] == NOTHING ->
		/* Judge: reserve, draw, settle; a draw that is not stored was never seen */
		if
		:: ROOM -> end[w] = DRAWN + starts - 1; entries = entries + 2
		:: else -> end[w] = DENIED; entries++
		fi;
		w++;
		MAY_DIE
	   }
	:: atomic { w < WINDOWS && end[w] != NOTHING -> w++ }
	:: atomic {
		DUE(0) || DUE(1) ->
#ifndef HEADS_LATER
		/* Ledger.unpublished, Replay._together */
		keep();
#endif
		MAY_DIE
	   };
	   atomic {
		if
		:: DUE(0) -> print(0); printed = 1
		:: !DUE(0) && DUE(1) -> print(1); printed = 2
		fi;
		MAY_DIE
	   };
	   atomic {
#ifdef HEADS_LATER
		keep();
#endif
		marked = marked | printed; printed = 0;
		MAY_DIE
	   }
	:: w == WINDOWS && marked == 3 -> goto stopped
	od
}

active proctype world() {
end_world:
	do
	:: d_step {
		!older -> older = true;
		old_entries = entries; old_beside = beside; old_marked = marked; old_feed = feed;
		old_end[0] = end[0]; old_end[1] = end[1]
	   }
	:: d_step {
		/* an older copy in its place, or one without its -wal file, after a power cut */
		!up && !lacked && older -> lacked = true;
		entries = old_entries; beside = old_beside; marked = old_marked; feed = old_feed;
		end[0] = old_end[0]; end[1] = old_end[1];
		noted_id = synced_id; noted = synced
	   }
	:: d_step {
		/* it is gone: the next run makes a new one */
		!up && !lacked -> lacked = true;
		id = 2; entries = 0; beside = 0; marked = 0; feed = 0; end[0] = NOTHING; end[1] = NOTHING;
		noted_id = synced_id; noted = synced
	   }
	:: d_step {
		/* restoring.published_in, take_over: all that was ever printed */
		!up && lacked && !put_right -> put_right = true;
		recover(0, 0); recover(0, 1); recover(1, 0); recover(1, 1);
		begin_heads()
	   }
	od
}
