import { durationToleranceSeconds } from "./meter.ts";
import type { SampleBounds } from "./mp4-codecs.ts";

/** A track of an MP4 file as far as it has been read. */
export type Mp4Track = {
  id: number;
  isAudio: boolean;
  unitsPerSecond: number;
  sampleBounds: SampleBounds | undefined;
  /** Samples with a length in time, and samples with a length in bytes. */
  timedSamples: number;
  sizedSamples: number;
  durationUnits: number;
  bytes: number;
  /** Parts of the media that are played, in their order; one more than are taken stands for all others. */
  edits: Mp4Edit[];
  /** How long a sample of a fragment lasts, and its size, where nothing else is said. */
  defaults: SampleDefaults;
};

/** Where a part begins, in units of the media, and how long it is played, in units of the movie. */
export type Mp4Edit = { readonly mediaStartUnits: number; readonly movieUnits: number };

export type SampleDefaults = { readonly units: number; readonly bytes: number };

/** No file of speech has more. */
const TRACKS_MAX = 16;
/** Nobody cuts so many parts out of a recording. */
export const EDITS_MAX = 256;
/** No codec puts more into one sample; a file that says so was made up. */
const SAMPLE_MAX_SECONDS = 10;

/** The tracks of a file, and the one that is being read. */
export class Mp4Tracks {
  readonly #tracks: Mp4Track[] = [];
  #hasTooManyTracks = false;
  movieUnitsPerSecond = 0;
  current: Mp4Track = emptyTrack();

  startTrack(): void {
    this.current = emptyTrack();
    if (this.#tracks.length < TRACKS_MAX) this.#tracks.push(this.current);
    else this.#hasTooManyTracks = true;
  }

  find(id: number): Mp4Track | undefined {
    return this.#tracks.find((track) => track.id === id);
  }

  /** Goes on with a track that was opened before; with one that nobody looks at when there is none. */
  select(id: number): void {
    this.current = this.find(id) ?? emptyTrack();
  }

  /**
   * The longest track of sound. Undefined when one of them cannot be true: a player hears what is in it, whatever its
   * clock says, and nobody can know here how long that is.
   */
  seconds(fileBytes: number): number | undefined {
    const sounds = this.#tracks.filter(({ isAudio }) => isAudio);
    if (this.#hasTooManyTracks || sounds.length === 0) return undefined;
    const lengths = sounds.flatMap((track) => (isPlausible(track, fileBytes) ? (this.#mediaSeconds(track) ?? []) : []));
    return lengths.length === sounds.length ? Math.max(...lengths) : undefined;
  }

  /** All of the media, since not every player goes by the edits. Undefined where a part is played again, or more than there is. */
  #mediaSeconds({ edits, durationUnits, unitsPerSecond }: Mp4Track): number | undefined {
    const seconds = durationUnits / unitsPerSecond;
    const near = durationToleranceSeconds(seconds);
    const editUnits = edits.reduce((sum, edit) => sum + edit.movieUnits, 0);
    const isOne = edits.length <= 1;
    // Each of several parts is rounded to units of the movie; where those are coarse, no part played again is to hide in it.
    const most = seconds + (isOne ? near : Math.min(edits.length / this.movieUnitsPerSecond, near));
    const isOnce = isOne || (edits.length <= EDITS_MAX && this.#areDisjoint(edits, unitsPerSecond));
    return isOnce && editUnits <= most * this.movieUnitsPerSecond ? seconds : undefined;
  }

  #areDisjoint(edits: readonly Mp4Edit[], unitsPerSecond: number): boolean {
    // Ends are rounded to units of the movie.
    const end = ({ mediaStartUnits, movieUnits }: Mp4Edit) =>
      mediaStartUnits + ((movieUnits - 1) / this.movieUnitsPerSecond) * unitsPerSecond;
    const sorted = edits.toSorted((one, other) => one.mediaStartUnits - other.mediaStartUnits);
    return sorted.every(
      (edit, i) => edit.movieUnits > 0 && end(edit) <= (sorted[i + 1]?.mediaStartUnits ?? Number.POSITIVE_INFINITY),
    );
  }
}

/** No sample is without bytes or without a time, none lasts for ever, and all but the last have the length they need. */
function isPlausible(
  { sampleBounds, unitsPerSecond, timedSamples, sizedSamples, durationUnits, bytes }: Mp4Track,
  fileBytes: number,
): boolean {
  return (
    sampleBounds !== undefined &&
    unitsPerSecond > 0 &&
    timedSamples <= fileBytes &&
    sizedSamples <= timedSamples &&
    bytes <= timedSamples * sampleBounds.bytesMax &&
    durationUnits <= timedSamples * SAMPLE_MAX_SECONDS * unitsPerSecond &&
    durationUnits >= (timedSamples - 1) * sampleBounds.secondsMin * unitsPerSecond
  );
}

function emptyTrack(): Mp4Track {
  const defaults = { units: 0, bytes: 0 };
  return {
    id: 0,
    isAudio: false,
    unitsPerSecond: 0,
    sampleBounds: undefined,
    timedSamples: 0,
    sizedSamples: 0,
    durationUnits: 0,
    bytes: 0,
    edits: [],
    defaults,
  };
}
