// Loaded in the head, before styles are applied: see themeFirst in vite.config.ts.
try {
  const theme = localStorage.getItem("theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Storage may be blocked; the system theme then applies.
}

// Starts while the scripts load; fetchFromGateway takes the response.
window.earlyResponses = new Map([
  [
    "/manage/me",
    fetch("/manage/me", {
      headers: { accept: "application/json", "x-svc-portal": "1" },
      credentials: "same-origin",
    }).catch(() => undefined),
  ],
]);
