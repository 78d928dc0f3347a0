/** The same function, which works out every answer once. Only for what comes from closed lists: nothing is forgotten. */
export function memoize<Of, Answer>(workOut: (of: Of) => Answer): (of: Of) => Answer {
  const known = new Map<Of, Answer>();
  return (of) => {
    const answer = known.get(of);
    if (answer !== undefined) return answer;
    const made = workOut(of);
    known.set(of, made);
    return made;
  };
}
