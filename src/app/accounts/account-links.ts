import { isAtLeast } from "../../domain/tenancy/actor.ts";
import type { AccountLink } from "../../domain/tenancy/person.ts";
import { hmacSha256Hex } from "../../kit/secret.ts";
import { actorName, caller } from "../manage/acting.ts";
import type { PeopleRoom } from "./room.ts";

/** What a link's maker is now. */
type Maker = "operator" | "of the workspace" | "nobody";

const TOKEN = "token:";
const OPERATOR = "operator:";
const MARK_CHARS = 16;

/** Who makes a link, in the words of the audit log; of the operator token also which one, for another may replace it. */
export async function makerName(room: PeopleRoom): Promise<string> {
  return caller()?.actor.is === "operator" ? operatorMark(room) : actorName();
}

export const makerShown = ({ issuedBy }: AccountLink): string =>
  issuedBy.startsWith(OPERATOR) ? "operator" : issuedBy;

async function operatorMark({ secret, adminToken }: PeopleRoom): Promise<string> {
  return `${OPERATOR}${hmacSha256Hex(await secret(), adminToken).slice(0, MARK_CHARS)}`;
}

/**
 * Who stands behind a link into a workspace, or to a new password. Links are good for days: one of an admin who has left,
 * or whose role is lower now than what the link gives, of an operator who is none any more, or of a token that has ended,
 * the operator's own too, is not good any more. Nobody comes back by a link they made for themselves.
 */
export async function makerOf(room: PeopleRoom, { issuedBy, membership }: AccountLink): Promise<Maker> {
  if (issuedBy.startsWith(OPERATOR)) return issuedBy === (await operatorMark(room)) ? "operator" : "nobody";
  if (issuedBy.startsWith(TOKEN)) {
    const { tokens } = room.directory;
    const token = tokens.find(issuedBy.slice(TOKEN.length));
    const isHere = token !== undefined && token.workspaceId === membership?.workspaceId;
    const may = isHere && tokens.findValid(token.digest, room.clock.nowMs()) !== undefined;
    return may ? "of the workspace" : "nobody";
  }
  const person = await room.store.people.personByEmail(issuedBy);
  if (person === undefined || person.disabled) return "nobody";
  if (person.operator) return "operator";
  if (membership === null) return "nobody";
  const member = room.directory.activeMember(membership.workspaceId, issuedBy);
  const may = member !== undefined && isAtLeast(member.role, "admin") && isAtLeast(member.role, membership.role);
  return may ? "of the workspace" : "nobody";
}
