/*
 * The protocol on Kafka: claim, compare, reserve, draw, settle, say, publish, mark; with kills,
 * starts, a second copy of the ledger or a ledger of its own, an archive, changed files and a
 * custodian. docs/dev/protocol.md maps every step to the code and says what is left out; check.py
 * runs it and its broken variants.
 *
 * One budget and one period; every draw costs one unit, and one window fewer fits than there are. Windows
 * stand in the order of admission: 0 and 2 are the first alarm's, 1 is the second's. ledgers[0] is the ledger. ledgers[1] becomes
 * a copy of it, made at any instant (an older backup, a second live copy, a database that lost what
 * came last), or a new ledger (the first was lost, or another file names another place).
 */

#define WORKERS 2
#ifndef STARTS
#define STARTS 4	/* of workers, in all: each start has a name of its own */
#endif
#ifndef WINDOWS
#define WINDOWS 2
#endif
#define WALL (WINDOWS - 1)
#if WINDOWS == 2
#define ANY(p) (p(0) || p(1))
#define EACH(f) f(0); f(1)
#else
#define ANY(p) (p(0) || p(1) || p(2))
#define EACH(f) f(0); f(1); f(2)
#endif
#if STARTS == 3
#define ANY_NAME(p) (p(0) || p(1) || p(2))
#define EACH_NAME(f) f(0); f(1); f(2)
#else
#define ANY_NAME(p) (p(0) || p(1) || p(2) || p(3))
#define EACH_NAME(f) f(0); f(1); f(2); f(3)
#endif
#ifndef KILLS
#define KILLS 2
#endif
#ifndef COPIES
#define COPIES 1
#endif
#ifndef CUSTODY
#define CUSTODY 1	/* how often a custodian charges what is missing */
#endif
#ifndef TIMEOUTS
#define TIMEOUTS 1	/* windows that are denied though they fit: a partition is missing */
#endif
#ifndef ARCHIVES
#define ARCHIVES 1
#endif
#ifndef EDITS
#define EDITS 1		/* of the file */
#endif

/* Promises. With ONLY one of them is looked at, so that what a broken variant breaks has a name. */
#define wall 1
#define once 2
#define charged 3
#define holder 4
#ifdef ONLY
#define PROMISE(name, holds) assert((name) != ONLY || (holds))
#else
#define PROMISE(name, holds) assert(holds)
#endif

/* How a window ended in a ledger, and what its record says. */
#define NOTHING 0
#define DENIED 1
#define PASSED 2	/* recovered, or passed over by a recovery */
#define DRAWN 3		/* drawn by the process of name 0, and so on: no two draws are the same */
#define DECIDED(end) ((end) >= DRAWN)

/* What became of a window's charge. */
#define UNASKED 0
#define PENDING 1
#define REFUSED 2
#define RESERVED 3
#define SPENT 4		/* settled, or taken as spent */
#define RELEASED 5
#define ARCHIVED 6	/* its entries were moved: its unit is in the snapshot */

#define ALARM(w) (1 << ((w) & 1))
#define FIRST 1
#define SECOND 2
#define USER 1
#define EVENT 2

typedef Ledger {
	byte id;		/* 0: there is none */
	byte end[WINDOWS];
	byte charge[WINDOWS];
	byte beside;		/* units of what was moved or recovered */
	byte front;		/* windows before it were asked for */
	byte recovered;		/* records, as bits */
	byte marked;		/* windows whose records have left, as bits */
	byte entries;		/* how many its log has; those that end windows and recoveries alone */
	byte shared;		/* how many of them the other ledger has, too */
	byte drawing;		/* alarms that draw on the budget, as bits */
	byte unit;		/* privacy unit of what is registered */
	byte since;		/* windows before it are not compared; where it registered too early */
	bool went_on		/* it ended a window since there are two ledgers */
};

Ledger ledgers[2];
byte starts, kills, copies, custody, timeouts, edits;
bool up[WORKERS];
bool serving;			/* a custodian is at it: workers wait */
bool moved;			/* entries were moved to an archive */
byte drew;			/* id of the ledger that draws; 0 after a transfer */
byte told;			/* privacy unit of what was published */
byte file = FIRST | SECOND;	/* the alarms that it has */
byte unit = USER;

/* The topic of ledgers: whose claim holds, and of which ledger each process last said which head. */
byte held_by;
byte said[STARTS];
byte said_by[STARTS];	/* 1 + index of the ledger; 0: nothing yet */
/* The decisions topic: what stands there of each window, by the id of the ledger. */
byte shown[2 * WINDOWS];
byte lost;			/* units: what readers of the topic have been told */

#define L ledgers[s]
#define RECORD(id, w) (((id) - 1) * WINDOWS + (w))

/* --- the budget: accountant/budget/filter.py */

#define OPEN(w) (L.charge[w] == RESERVED || L.charge[w] == PENDING)
#ifdef TWO_UNITS
#define BEFORE(v, w) ((v) < (w) && (L.unit == USER || ALARM(v) == ALARM(w)))
#else
#define BEFORE(v, w) ((v) < (w))
#endif
#ifdef FORGETS_OPEN
#define HOLDS(v) (OPEN(v) && !moved)
#else
#define HOLDS(v) OPEN(v)
#endif
#define SPENDS(v, w) (BEFORE(v, w) && L.charge[v] == SPENT)
#define LEAST(w) (L.beside + SPENDS(0, w) + SPENDS(1, w))
#define MOST(w) (LEAST(w) + (BEFORE(0, w) && HOLDS(0)) + (BEFORE(1, w) && HOLDS(1)))

inline say_to(w) {
	if
	:: L.charge[w] != PENDING -> skip
#ifdef CHARGES_LATER
	:: L.charge[w] == PENDING -> L.charge[w] = RESERVED
#else
	:: L.charge[w] == PENDING && MOST(w) < WALL -> L.charge[w] = RESERVED
	:: L.charge[w] == PENDING && LEAST(w) >= WALL -> L.charge[w] = REFUSED
	:: else -> skip
#endif
	fi
}

inline answer() { EACH(say_to) }

inline ask(v) {
	if
	:: v >= L.front && v <= w && (alarms & ALARM(v)) && L.end[v] == NOTHING ->
		L.charge[v] = PENDING
	:: else -> skip
	fi
}

inline give_back(w) {
	if
	:: OPEN(w) -> L.charge[w] = RELEASED
	:: else -> skip
	fi
}

/* --- what a start compares: stream/kafka/witness.py, stream/kafka/guard.py */

#define MINE(name) (said_by[name] != 0 && ledgers[said_by[name] - 1].id == L.id)
#define HAS(name) (said[name] <= (said_by[name] == s + 1 -> L.entries : L.shared))
#define UNKNOWN(name) (MINE(name) && !HAS(name))
#ifdef NO_TOPIC_HEADS
#define RELEASED_ELSEWHERE false
#else
#define RELEASED_ELSEWHERE ANY_NAME(UNKNOWN)
#endif
#ifdef NO_CLAIM
#define HELD_ELSEWHERE false
#else
#define HELD_ELSEWHERE (held_by != 0 && held_by != L.id)
#endif

#if defined(CONFIGURED_ONLY)
#define CONCERNS(w) (alarms & ALARM(w))
#elif defined(REGISTERS_FIRST)
#define CONCERNS(w) ((w) >= L.since)
#else
#define CONCERNS(w) true
#endif
#define OWN(i, w) (L.id == (i) + 1 && L.end[w] == shown[(i) * WINDOWS + (w)])
#define LACKS(i, w) (shown[(i) * WINDOWS + (w)] != NOTHING && CONCERNS(w) && !OWN(i, w) \
	&& !(L.recovered & (1 << ((i) * WINDOWS + (w)))))
#define LACKS_ONE(w) (LACKS(0, w) || LACKS(1, w))

/* --- what a custodian charges: accountant/rules/recovery.py */

inline pass_over(v, x) {
	if
	:: L.end[v] == NOTHING ->
		L.end[v] = PASSED;
		if
		:: OPEN(v) -> L.charge[v] = SPENT
		:: else -> skip
		fi
	:: else -> skip
	fi
}

inline recover_one(i, x) {
	if
	:: LACKS(i, x) ->
		L.recovered = L.recovered | (1 << (i * WINDOWS + x));
		L.beside = L.beside + DECIDED(shown[i * WINDOWS + x]);
		give_back(x);
		pass_over(x, x);
		pass_over(x & 1, x)
	:: else -> skip
	fi
}

inline recover(x) { recover_one(0, x); recover_one(1, x) }

inline take_over(name) {
	if
	:: MINE(name) -> said[name] = L.entries; said_by[name] = s + 1
	:: else -> skip
	fi
}

/* --- a worker: stream/kafka/worker.py, stream/decisions/judge.py, stream/kafka/publish.py */

inline publish(w, said_of_it) {
	PROMISE(charged, !DECIDED(said_of_it) || L.charge[w] == SPENT || L.charge[w] == ARCHIVED);
	PROMISE(once, shown[RECORD(L.id, w)] == NOTHING || shown[RECORD(L.id, w)] == said_of_it);
	PROMISE(once, shown[RECORD(3 - L.id, w)] == NOTHING);
	lost = lost + (DECIDED(said_of_it) && shown[RECORD(L.id, w)] != said_of_it);
	PROMISE(wall, lost <= WALL);
	shown[RECORD(L.id, w)] = said_of_it;
	told = mine
}

#define TURN(w) (L.end[w] == NOTHING && (alarms & ALARM(w)) && L.charge[w] != PENDING \
	&& ((w) < 2 || L.end[0] != NOTHING))
#define DUE(w) (L.end[w] != NOTHING && L.end[w] != PASSED && !(L.marked & (1 << (w))) \
	&& (alarms & ALARM(w)))

inline note(w) { last = last | ((L.end[w] != NOTHING) << w) }

/* Pins.remove_alarm */
#if WINDOWS == 2
#define RETIRE_FIRST give_back(0)
#else
#define RETIRE_FIRST give_back(0); give_back(2)
#endif

/* A kill between two steps: what was not stored is gone. */
#define MAY_DIE if \
	:: kills < KILLS && starts < STARTS -> kills++; goto start \
	:: true \
	fi

inline leave(w) {
	if
#ifdef LATER_TOO
	:: DUE(w) ->
#else
	:: DUE(w) && (last & (1 << (w))) ->
#endif
		atomic { publish(w, L.end[w]); MAY_DIE };
		atomic { L.marked = L.marked | (1 << (w)); MAY_DIE }
	:: else -> skip
	fi
}

/* Ledger.deny */
inline deny(w) { L.end[w] = DENIED; L.entries++; give_back(w); answer(); L.went_on = copies > 0 }

#ifdef SILENT_REFUSALS
inline refuse(w) { skip }
#else
inline refuse(w) { deny(w) }
#endif

proctype worker(byte me) {
	byte s, name, alarms, mine, w, drawn, last, head;
start:
	atomic {
		s = 0; name = 0; alarms = 0; mine = 0; w = 0; drawn = 0; last = 0; head = 0;
		up[me] = false
	};
end_start:
	atomic {
		starts < STARTS && !serving && (me == 0 || starts > 0);
		name = starts; starts++;
		up[me] = true; alarms = file; mine = unit;
		if
		:: s = 0
		:: ledgers[1].id != 0 -> s = 1
		fi
	};
#ifdef REGISTERS_FIRST
		d_step {
			if
			:: L.unit == 0 -> L.since = ledgers[0].front; L.unit = mine
			:: else -> skip
			fi
		};
#endif
#ifndef NO_CLAIM
		/* Witness.claim */
		if
		:: HELD_ELSEWHERE || RELEASED_ELSEWHERE -> goto start
		:: !(HELD_ELSEWHERE || RELEASED_ELSEWHERE) && held_by == 0 ->
			atomic {
				if
				:: held_by == 0 -> held_by = L.id
				:: else -> skip
				fi;
#ifndef NOT_READ_BACK
				if
				:: HELD_ELSEWHERE -> goto start
				:: else -> skip
				fi;
#endif
				MAY_DIE
			}
		:: else -> skip
		fi;
#endif
		/* guard.check_ledger */
		if
		:: ANY(LACKS_ONE) -> goto start
		:: else -> skip
		fi;
		/* build.assemble; what the file lacks was retired */
		atomic {
#ifndef TWO_UNITS
			if
			:: L.unit != 0 && L.unit != mine -> goto start
			:: else -> skip
			fi;
#endif
			L.unit = mine;
#ifndef TWO_UNITS
			if
			:: (L.drawing & FIRST) && !(alarms & FIRST) -> RETIRE_FIRST
			:: else -> skip
			fi;
#endif
			L.drawing = alarms;
			answer();
			MAY_DIE
		};
end_idle:	do
		:: atomic {
			ANY(TURN) ->
			if
			:: TURN(0) -> w = 0
			:: TURN(1) -> w = 1
#if WINDOWS > 2
			:: TURN(2) -> w = 2
#endif
			fi;
			if
			:: w == 0 && timeouts < TIMEOUTS ->
				timeouts++;
				deny(0);
				MAY_DIE;
				goto end_idle
			:: true -> skip
			fi;
			/* Ledger.admit */
			if
			:: L.drawing != alarms -> goto start
			:: else -> skip
			fi;
			d_step {
				EACH(ask);
				if
				:: L.front <= w -> L.front = w + 1
				:: else -> skip
				fi;
				answer()
			};
			/* Ledger.answer; Judge._draw */
			if
			:: L.charge[w] == RESERVED ->
				PROMISE(holder, drew == 0 || drew == L.id);
				drew = L.id;
				drawn = DRAWN + name;
				MAY_DIE
			:: L.charge[w] == PENDING -> w = 0; MAY_DIE; goto end_idle
			:: else -> refuse(w); w = 0; MAY_DIE; goto end_idle
			fi
		   };
#ifdef PUBLISHES_FIRST
		   atomic { publish(w, drawn); MAY_DIE };
#endif
		   /* Ledger.settle */
		   atomic {
			if
#ifndef OVERWRITES
			:: L.end[w] != NOTHING -> skip
			:: L.end[w] == NOTHING && L.charge[w] != RESERVED -> goto start
#endif
			:: else ->
				L.end[w] = drawn; L.entries++; L.charge[w] = SPENT; answer();
				L.went_on = copies > 0
			fi;
			w = 0; drawn = 0;
			MAY_DIE
		   }
		:: atomic {
			/* Heads.release */
			ANY(DUE) ->
			d_step { head = L.entries; last = 0; EACH(note) };
			MAY_DIE
		   };
		   /* Witness.release: said, and read up to what was said */
		   atomic {
			said[name] = head; said_by[name] = s + 1; head = 0;
			if
			:: HELD_ELSEWHERE || RELEASED_ELSEWHERE -> goto start
			:: else -> skip
			fi;
			MAY_DIE
		   };
		   EACH(leave);
		   last = 0
		od
}

/* --- whatever else happens */

inline copy(v) {
	ledgers[1].end[v] = ledgers[0].end[v];
	ledgers[1].charge[v] = ledgers[0].charge[v]
}

/* Archives.move */
inline move(w) {
	if
	:: L.charge[w] == SPENT && (L.end[w] == PASSED || (L.marked & (1 << w))) &&
	   (w == 0 || !OPEN(0)) && (w < 2 || !OPEN(1)) ->
		L.charge[w] = ARCHIVED; L.beside++
	:: else -> skip
	fi
}

/* A ledger that went on beside another one is given up, not charged. */
#ifdef DREW_MEANWHILE
#define MAY_CHARGE(i) (ledgers[i].id != 0)
#else
#define MAY_CHARGE(i) (ledgers[i].id != 0 && !ledgers[i].went_on)
#endif

active proctype world() {
	byte s, alarms;
	atomic { ledgers[0].id = 1; run worker(0); run worker(1) };
end:	do
	:: atomic {
		copies < COPIES ->
		copies++;
		if
		:: d_step {
			/* an older copy, or one that goes on beside it */
			ledgers[1].id = 1;
			EACH(copy);
			ledgers[1].beside = ledgers[0].beside;
			ledgers[1].front = ledgers[0].front;
			ledgers[1].recovered = ledgers[0].recovered;
			ledgers[1].marked = ledgers[0].marked;
			ledgers[1].entries = ledgers[0].entries;
			ledgers[1].shared = ledgers[0].entries;
			ledgers[0].shared = ledgers[0].entries;
			ledgers[1].drawing = ledgers[0].drawing;
			ledgers[1].unit = ledgers[0].unit;
			ledgers[1].since = ledgers[0].since
		   }
		:: ledgers[1].id = 2
		fi
	   }
	:: d_step {
		ARCHIVES && !moved && ledgers[0].front > 0 ->
		moved = true; s = 0;
		EACH(move)
	   }
	:: atomic {
		edits < EDITS ->
		edits++;
		if
		:: file = SECOND
		:: file = SECOND; unit = EVENT
		fi
	   }
	:: atomic {
#ifdef CLAIMS_WHILE_RUNNING
		custody < CUSTODY ->
#else
		custody < CUSTODY && !up[0] && !up[1] && starts < STARTS ->
		serving = true;
#endif
		custody++;
		if
		:: MAY_CHARGE(0) -> s = 0
		:: MAY_CHARGE(1) -> s = 1
		:: else -> goto served
		fi;
		alarms = file
	   };
	   /* restoring.take_over, Upkeep.reconcile */
	   atomic {
		if
		:: told != 0 && told != (L.unit -> L.unit : unit) -> goto served
		:: else -> skip
		fi;
		d_step {
			if
			:: ANY(LACKS_ONE) -> L.entries++
			:: else -> skip
			fi;
			EACH(recover);
			answer()
		}
	   };
	   if
	   :: goto served
	   :: true
	   fi;
	   /* Witness.settle */
	   d_step { EACH_NAME(take_over) };
	   /* Witness.transfer */
	   atomic {
		if
		:: held_by != 0 && held_by != L.id -> held_by = L.id; drew = 0
		:: else -> skip
		fi
	   };
served:	   atomic { serving = false; s = 0; alarms = 0 }
	od
}

#ifdef LIVE
/* What fits is decided in the end, and everything is told, as long as a worker lives. */
#define TOLD(w) (shown[w] != NOTHING)
#if WINDOWS == 2
ltl decided { <> (TOLD(0) && TOLD(1) && lost == WALL) }
#else
ltl decided { <> (TOLD(0) && TOLD(1) && TOLD(2) && lost == WALL) }
#endif
#endif
