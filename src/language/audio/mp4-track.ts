import { durationToleranceSeconds } from "./meter.ts";
import type { SampleBounds } from "./mp4-codecs.ts";

/** An MP4 track as far as it has been read. */
export type Mp4Track = {
  id: number;
  isAudio: boolean;
  unitsPerSecond: number;
  sampleBounds: SampleBounds | undefined;
  /** Samples with a known duration, and samples with a known size. */
  timedSamples: number;
  sizedSamples: number;
  durationUnits: number;
  bytes: number;
  /** In playback order; one entry above the maximum marks an overlong list. */
  edits: Mp4Edit[];
  /** Defaults for samples of a fragment. */
  defaults: SampleDefaults;
};

/** Start in media units and duration in movie units. */
export type Mp4Edit = { readonly mediaStartUnits: number; readonly movieUnits: number };

export type SampleDefaults = { readonly units: number; readonly bytes: number };

/** More than any speech file has. */
const TRACKS_MAX = 16;
/** More than any edited recording has. */
export const EDITS_MAX = 256;
/** Longer than any codec's sample: a file that states more is forged. */
const SAMPLE_MAX_SECONDS = 10;

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

  /** Selects a known track; an unknown id selects a discarded one. */
  select(id: number): void {
    this.current = this.find(id) ?? emptyTrack();
  }

  /**
   * Duration of the longest audio track. Undefined when any audio track is implausible: players decode its samples
   * whatever its timestamps say.
   */
  seconds(fileBytes: number): number | undefined {
    const sounds = this.#tracks.filter(({ isAudio }) => isAudio);
    if (this.#hasTooManyTracks || sounds.length === 0) return undefined;
    const lengths = sounds.flatMap((track) => (isPlausible(track, fileBytes) ? (this.#mediaSeconds(track) ?? []) : []));
    return lengths.length === sounds.length ? Math.max(...lengths) : undefined;
  }

  /**
   * The full media duration, because not every player applies edit lists. Undefined when edits repeat a part or exceed
   * the media.
   */
  #mediaSeconds({ edits, durationUnits, unitsPerSecond }: Mp4Track): number | undefined {
    const seconds = durationUnits / unitsPerSecond;
    const tolerance = durationToleranceSeconds(seconds);
    const editUnits = edits.reduce((sum, edit) => sum + edit.movieUnits, 0);
    const isSingle = edits.length <= 1;
    // Each edit is rounded to movie units; the tolerance is capped so that a repeated part cannot hide in coarse units.
    const maxSeconds = seconds + (isSingle ? tolerance : Math.min(edits.length / this.movieUnitsPerSecond, tolerance));
    const hasNoRepeats = isSingle || (edits.length <= EDITS_MAX && this.#areDisjoint(edits, unitsPerSecond));
    return hasNoRepeats && editUnits <= maxSeconds * this.movieUnitsPerSecond ? seconds : undefined;
  }

  #areDisjoint(edits: readonly Mp4Edit[], unitsPerSecond: number): boolean {
    // Ends are rounded to movie units.
    const end = ({ mediaStartUnits, movieUnits }: Mp4Edit) =>
      mediaStartUnits + ((movieUnits - 1) / this.movieUnitsPerSecond) * unitsPerSecond;
    const sorted = edits.toSorted((a, b) => a.mediaStartUnits - b.mediaStartUnits);
    return sorted.every(
      (edit, i) => edit.movieUnits > 0 && end(edit) <= (sorted[i + 1]?.mediaStartUnits ?? Number.POSITIVE_INFINITY),
    );
  }
}

/** Every sample has bytes and a bounded duration, and all but the last reach the codec's minimum. */
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
