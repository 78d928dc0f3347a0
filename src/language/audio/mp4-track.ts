/** A track of an MP4 file as far as it has been read. */
export type Mp4Track = {
  id: number;
  isSound: boolean;
  unitsPerSecond: number;
  samples: number;
  units: number;
  /** How long a sample of a fragment lasts where nothing else is said. */
  defaultUnits: number;
};

/** No file of speech has more; the others are not looked at. */
const TRACKS_MAX = 16;
/** No codec puts more into one sample; a file that says so was made up. */
const SAMPLE_MAX_SECONDS = 10;

/** The tracks of a file, and the one that is being read. */
export class Mp4Tracks {
  readonly #all: Mp4Track[] = [];
  current: Mp4Track = blank();

  open(): void {
    this.current = blank();
    if (this.#all.length < TRACKS_MAX) this.#all.push(this.current);
  }

  find(id: number): Mp4Track | undefined {
    return this.#all.find((track) => track.id === id);
  }

  /** Goes on with a track that was opened before; with one that nobody looks at when there is none. */
  pick(id: number): void {
    this.current = this.find(id) ?? blank();
  }

  /** The longest track of sound whose samples can be true: none is without bytes, and none lasts for ever. */
  seconds(fileBytes: number): number | undefined {
    const lengths = this.#all.flatMap(({ isSound, unitsPerSecond, samples, units }) => {
      const isLikely = samples <= fileBytes && units <= samples * SAMPLE_MAX_SECONDS * unitsPerSecond;
      return isSound && unitsPerSecond > 0 && isLikely ? [units / unitsPerSecond] : [];
    });
    return lengths.length === 0 ? undefined : Math.max(...lengths);
  }
}

function blank(): Mp4Track {
  return { id: 0, isSound: false, unitsPerSecond: 0, samples: 0, units: 0, defaultUnits: 0 };
}
