import { useManage } from "../api/hooks.ts";

const SHOWN_MAX = 3;
const RANKS: Readonly<Record<string, number>> = { owner: 0, admin: 1 };

/** The people to ask for what only admins and owners can do: "grace@example.eu or ada@example.eu". */
export function WorkspaceAdmins({ workspace }: { readonly workspace: string }) {
  const members = useManage(
    "manageListMembers",
    { params: { workspace }, query: { limit: 1000 } },
    { enabled: workspace !== "" },
  ).data?.data;
  const admins = (members ?? [])
    .filter(({ role, joined }) => role in RANKS && joined)
    .toSorted((a, b) => (RANKS[a.role] ?? 0) - (RANKS[b.role] ?? 0) || a.email.localeCompare(b.email))
    .slice(0, SHOWN_MAX);
  if (admins.length === 0) return <>an admin or owner</>;
  return (
    <>
      {admins.map(({ id, email }, index) => (
        <span key={id}>
          {index > 0 && (index === admins.length - 1 ? " or " : ", ")}
          <a href={`mailto:${email}`} className="font-medium text-accent underline underline-offset-2">
            {email}
          </a>
        </span>
      ))}
    </>
  );
}
