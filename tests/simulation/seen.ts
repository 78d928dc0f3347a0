/**
 * Worlds in which mutants were noticed that are hard to notice: tried first, which saves the search through those before
 * it. A world that shows nothing any more costs one run, and the search begins at the first.
 */
export const SEEN: Readonly<Record<"requests" | "money", Readonly<Record<string, number>>>> = {
  requests: {
    "estimates-beyond-the-hold": 758,
    "aside-and-still-first": 245,
    "nobody-is-set-aside": 245,
    "router-of-the-plan": 137,
    "lies-are-believed": 97,
    "models-not-checked-again": 66,
    "no-deadline": 47,
    "output-after-hanging-up-is-charged": 46,
    "fallbacks-need-no-leave": 41,
    "checked-before-the-credential": 38,
    "blocked-list-not-checked-again": 37,
    "held-twice-over": 36,
    "revoked-key-goes-on": 35,
    "router-of-others-by-name": 27,
    "allowed-models-replaced": 26,
    "moved-is-asked": 23,
    "refusals-move-on": 22,
  },
  money: {
    "estimates-beyond-the-hold": 217,
    "swept-holds-settle-for-free": 159,
    "limits-forget-what-is-held": 33,
    "unsafe-writes-stay": 30,
    "negative-usage-is-credited": 20,
    "hold-not-counted-against-members": 15,
    "spent-not-counted-against-workspaces": 11,
    "segments-dropped-before-sql-has-them": 10,
  },
};
