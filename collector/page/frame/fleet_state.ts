// The list of recordings, kept up to date by the collector (/events). After a lost connection the
// browser connects again by itself, and gets the whole list anew.
import { createContext } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';
import { nanoseconds, type Changes, type Stream } from '../api/types';

export interface Fleet {
	/** In the order in which they began; undefined: not known yet. */
	streams?: Stream[];
	connected: boolean;
	/** What the list does not hold, in a sentence: agents that found no place. */
	incomplete?: string;
}

export const FleetContext = createContext<Fleet>({ connected: false });

export function useFleet(): Fleet {
	return useContext(FleetContext);
}

/** Of the recording of that id, or a beginning of it. */
export function useStream(id: string): Stream | undefined {
	const { streams } = useFleet();
	return id === 'last'
		? streams?.[streams.length - 1]
		: streams?.find((s) => s.id.startsWith(id));
}

/** For the one who provides FleetContext. */
export function useFleetEvents(): Fleet {
	const [fleet, setFleet] = useState<Fleet>({ connected: false });

	useEffect(() => {
		let known = new Map<string, Stream>();
		let fresh = true;
		const events = new EventSource('events');

		events.addEventListener('open', () => (fresh = true));
		events.addEventListener('list', (event) => {
			const { changed, gone, incomplete } = JSON.parse(
				(event as MessageEvent<string>).data,
			) as Changes;
			known = fresh ? new Map() : known;
			fresh = false;
			for (const id of gone) known.delete(id);
			for (const stream of changed) known.set(stream.id, stream);
			const streams = [...known.values()].sort(
				(a, b) => nanoseconds(a.timestamp) - nanoseconds(b.timestamp),
			);
			setFleet({ streams, connected: true, incomplete });
		});
		events.addEventListener('error', () =>
			setFleet((before) => ({ ...before, connected: false })),
		);
		return () => events.close();
	}, []);
	return fleet;
}
