import { nearSeconds } from "./meter.ts";
import type { SampleKind } from "./mp4-codecs.ts";

/** A track of an MP4 file as far as it has been read. */
export type Mp4Track = {
  id: number;
  isSound: boolean;
  unitsPerSecond: number;
  kind: SampleKind | undefined;
  /** Samples with a length in time, and samples with a length in bytes. */
  samples: number;
  sized: number;
  units: number;
  bytes: number;
  /** Parts of the media that are played, in their order; one more than are taken stands for all others. */
  edits: Mp4Edit[];
  /** How long a sample of a fragment lasts, and its size, where nothing else is said. */
  defaults: SampleSize;
};

/** Where a part begins, in units of the media, and how long it is played, in units of the movie. */
export type Mp4Edit = { readonly from: number; readonly units: number };

export type SampleSize = { readonly units: number; readonly bytes: number };

/** No file of speech has more. */
const TRACKS_MAX = 16;
/** Nobody cuts so many parts out of a recording. */
export const EDITS_MAX = 256;
/** No codec puts more into one sample; a file that says so was made up. */
const SAMPLE_MAX_SECONDS = 10;

/** The tracks of a file, and the one that is being read. */
export class Mp4Tracks {
  readonly #all: Mp4Track[] = [];
  #hasMore = false;
  movieUnitsPerSecond = 0;
  current: Mp4Track = blank();

  open(): void {
    this.current = blank();
    if (this.#all.length < TRACKS_MAX) this.#all.push(this.current);
    else this.#hasMore = true;
  }

  find(id: number): Mp4Track | undefined {
    return this.#all.find((track) => track.id === id);
  }

  /** Goes on with a track that was opened before; with one that nobody looks at when there is none. */
  pick(id: number): void {
    this.current = this.find(id) ?? blank();
  }

  /**
   * The longest track of sound. Undefined when one of them cannot be true: a player hears what is in it, whatever its
   * clock says, and nobody can know here how long that is.
   */
  seconds(fileBytes: number): number | undefined {
    const sounds = this.#all.filter(({ isSound }) => isSound);
    if (this.#hasMore || sounds.length === 0) return undefined;
    const lengths = sounds.flatMap((track) => (isLikely(track, fileBytes) ? (this.#mediaSeconds(track) ?? []) : []));
    return lengths.length === sounds.length ? Math.max(...lengths) : undefined;
  }

  /** All of the media, since not every player goes by the edits. Undefined where a part is played again, or more than there is. */
  #mediaSeconds({ edits, units, unitsPerSecond }: Mp4Track): number | undefined {
    const seconds = units / unitsPerSecond;
    const near = nearSeconds(seconds);
    const editUnits = edits.reduce((sum, edit) => sum + edit.units, 0);
    const isOne = edits.length <= 1;
    // Each of several parts is rounded to units of the movie; where those are coarse, no part played again is to hide in it.
    const most = seconds + (isOne ? near : Math.min(edits.length / this.movieUnitsPerSecond, near));
    const isOnce = isOne || (edits.length <= EDITS_MAX && this.#areApart(edits, unitsPerSecond));
    return isOnce && editUnits <= most * this.movieUnitsPerSecond ? seconds : undefined;
  }

  #areApart(edits: readonly Mp4Edit[], unitsPerSecond: number): boolean {
    // Ends are rounded to units of the movie.
    const end = ({ from, units }: Mp4Edit) => from + ((units - 1) / this.movieUnitsPerSecond) * unitsPerSecond;
    const sorted = edits.toSorted((one, other) => one.from - other.from);
    return sorted.every((edit, i) => edit.units > 0 && end(edit) <= (sorted[i + 1]?.from ?? Number.POSITIVE_INFINITY));
  }
}

/** No sample is without bytes or without a time, none lasts for ever, and all but the last have the length they need. */
function isLikely({ kind, unitsPerSecond, samples, sized, units, bytes }: Mp4Track, fileBytes: number): boolean {
  return (
    kind !== undefined &&
    unitsPerSecond > 0 &&
    samples <= fileBytes &&
    sized <= samples &&
    bytes <= samples * kind.bytesMax &&
    units <= samples * SAMPLE_MAX_SECONDS * unitsPerSecond &&
    units >= (samples - 1) * kind.secondsMin * unitsPerSecond
  );
}

function blank(): Mp4Track {
  const defaults = { units: 0, bytes: 0 };
  return {
    id: 0,
    isSound: false,
    unitsPerSecond: 0,
    kind: undefined,
    samples: 0,
    sized: 0,
    units: 0,
    bytes: 0,
    edits: [],
    defaults,
  };
}
