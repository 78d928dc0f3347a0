/** The mark, an arch with a path through it, and the name. `mark.svg` has the same shape for the browser's tab. */
export function Logo() {
  return (
    <span className="inline-flex items-center gap-2.5 text-[0.9375rem] font-semibold tracking-tight whitespace-nowrap">
      <svg aria-hidden="true" viewBox="0 0 24 24" className="size-6 shrink-0">
        <rect width="24" height="24" rx="6" className="fill-accent" />
        <path
          d="M6.5 18.5V12a5.5 5.5 0 0 1 11 0v6.5M12 12.5v6"
          fill="none"
          strokeWidth="2.2"
          strokeLinecap="round"
          className="stroke-on-accent"
        />
        <circle cx="12" cy="12" r="1.9" className="fill-on-accent" />
      </svg>
      Inference Gateway
    </span>
  );
}
