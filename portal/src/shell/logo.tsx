export function Logo() {
  return (
    <span className="inline-flex items-center gap-2.5 font-semibold tracking-tight">
      <svg aria-hidden="true" viewBox="0 0 20 20" className="size-5 text-accent">
        <path d="M2.5 17.5V9a7.5 7.5 0 0 1 15 0v8.5h-4V9a3.5 3.5 0 0 0-7 0v8.5z" fill="currentColor" />
        <path d="M10 8.2v9.3" stroke="currentColor" strokeWidth="1.6" />
      </svg>
      Inference Gateway
    </span>
  );
}
