import { fault } from "../../contract/faults.ts";
import type { PersonRecord } from "../../domain/tenancy/person.ts";
import { type Handler, type Reply, whole } from "../exchange.ts";
import { change, findWorkspace, short } from "../manage/deps.ts";
import { demandRank } from "../manage/seat.ts";
import { isoTime } from "../manage/views.ts";
import { baseOf } from "./deps.ts";
import { seatsOf } from "./me.ts";
import { findPerson } from "./people.ts";
import type { PeopleRoom } from "./room.ts";

const RESET_MS = 24 * 3_600_000;

/** Links to set a new password, handed over by whoever made them: for where no mail leaves. */
export function resetHandlers(room: PeopleRoom): Record<string, Handler> {
  return {
    peopleReset: whole(async (exchange) => makeReset(room, await findPerson(room, exchange), null)),
    peopleResetMember: whole(async (exchange) => {
      const workspace = findWorkspace(room, exchange.params["workspace"]);
      const email = (exchange.params["email"] ?? "").trim().toLowerCase();
      const member = room.directory.members(workspace.id).find((one) => one.email === email);
      const person = member === undefined ? undefined : await room.store.people.personByEmail(email);
      if (member === undefined || person === undefined)
        throw fault("not_found", { message: `${short(email)} has no account in ${workspace.slug}. Invite them.` });
      demandRank(exchange, member.role);
      // Who sets the password of an account is that person everywhere.
      if (exchange.seat !== undefined && (person.operator || seatsOf(room, email).length > 1))
        throw fault("not_allowed", {
          message: `${email} belongs to more than this workspace: only the operator makes a link for them.`,
        });
      return makeReset(room, person, workspace.id);
    }),
  };
}

async function makeReset(room: PeopleRoom, person: PersonRecord, workspaceId: string | null): Promise<Reply> {
  const { clock, makeToken, library } = room;
  const [token, expiresAtMs] = [makeToken(), clock.nowMs() + RESET_MS];
  const opened = await library.plain();
  await change(room, async () => {
    const detail = { email: person.email };
    return { answer: null, audit: { action: "person.reset_link", workspaceId, target: person.id, detail } };
  });
  await opened.addReset(person.id, token, new Date(expiresAtMs));
  const link = `${baseOf(room)}/app/reset-password?token=${token}`;
  return { status: 201, json: { link, expires_at: isoTime(expiresAtMs) } };
}
