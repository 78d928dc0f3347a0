// Loaded in the head, before styles are applied: see themeFirst in vite.config.ts.
try {
  const theme = localStorage.getItem("theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Storage may be blocked; the system theme then applies.
}
