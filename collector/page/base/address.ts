// What is looked at, all of it in the fragment of the address, so that a link shows somebody else
// the same, and back and forward work:
//
//	#/                              the fleet
//	#/STREAM/VIEW?name=value&...    a view of a recording
//
// Names that LOOK does not have are filters: they go to the API as they are.
import { useEffect, useState } from 'preact/hooks';

export type Value = 'in-use' | 'peak' | 'allocated' | 'leaked' | 'temporary';

/** Parameters that choose how something is shown; everything else is a filter. */
const LOOK = new Set([
	'value',
	'at',
	'weight',
	'start',
	'end',
	'base',
	'by',
	'tree',
	'focus',
	'find',
	'site',
	'sort',
	'order',
	'q',
	'picked',
	'query',
	'block',
	'young',
	'suppress',
	'map',
	'spot',
	'file',
	'line',
	'show',
]);

export interface Address {
	stream: string; // '': none
	view: string;
	params: URLSearchParams;
}

/** Links from before go on working: filters had other names then. */
function presentNames(hash: string): string {
	return hash
		.replace(/\bfreed_at_once=/, 'temporary=')
		.replace(/\blifetime=only_temporary\b/, 'lifetime=only_freed');
}

export function parse(hash: string): Address {
	const [path = '', query = ''] = presentNames(hash.replace(/^#\/?/, '')).split('?', 2);
	const [stream = '', view = ''] = path.split('/').map(decodeURIComponent);
	return {
		stream,
		view: view || (stream ? 'overview' : 'fleet'),
		params: new URLSearchParams(query),
	};
}

export function format(address: Address): string {
	const query = address.params.toString();
	const path = address.stream ? `${encodeURIComponent(address.stream)}/${address.view}` : '';
	return `#/${path}${query ? `?${query}` : ''}`;
}

export interface Change {
	stream?: string;
	view?: string;
	/** undefined or '': the parameter goes. */
	set?: Record<string, string | undefined>;
	/** Nothing of the parameters stays but what `set` has. */
	fresh?: boolean;
}

/** The address that is `from` but for the change. For the href of a link. */
export function changed(from: Address, change: Change): string {
	const params = new URLSearchParams(change.fresh ? '' : from.params);
	for (const [name, value] of Object.entries(change.set ?? {}))
		if (value) params.set(name, value);
		else params.delete(name);
	return format({ stream: change.stream ?? from.stream, view: change.view ?? from.view, params });
}

/**
 * Goes there. `quietly`: without a step of its own in the history, as while something is dragged.
 */
export function go(change: Change, quietly = false): void {
	const hash = changed(parse(location.hash), change);
	if (hash === location.hash) return;
	if (quietly) {
		history.replaceState(null, '', hash);
		dispatchEvent(new HashChangeEvent('hashchange'));
	} else {
		location.hash = hash;
	}
}

export function useAddress(): Address {
	const [hash, setHash] = useState(location.hash);
	useEffect(() => {
		const changes = () => setHash(location.hash);
		addEventListener('hashchange', changes);
		return () => removeEventListener('hashchange', changes);
	}, []);
	return parse(hash);
}

export function filtersOf(address: Address): [string, string][] {
	return [...address.params].filter(([name]) => !LOOK.has(name));
}

export function valueOf(address: Address): Value {
	return (address.params.get('value') as Value) || 'peak';
}

export function inBlocks(address: Address): boolean {
	return address.params.get('weight') === 'blocks';
}

/** What the view of temporary blocks shows, as filters of the API. */
export function temporaryOf(address: Address): [string, string][] {
	return address.params.get('by') === 'freed'
		? [['lifetime', 'only_freed']]
		: [['temporary', 'yes']];
}
