// The same thing has the same colour in every view. Colours are chosen by name, so that they do not
// depend on what else is shown; the palette is told apart by people who do not see red or green
// (after Okabe and Ito, toned down for large areas).
import { useEffect, useState } from 'preact/hooks';

const LIGHT = [
	'#7fa8cf',
	'#d9b26a',
	'#7fbfa4',
	'#b79bd0',
	'#e0a58b',
	'#9fc3dd',
	'#c4c08a',
	'#d3a3bd',
];
const DARK = [
	'#4a7aa8',
	'#9a7a3a',
	'#45836b',
	'#7a619a',
	'#9c6850',
	'#4f8090',
	'#7d7a45',
	'#8c5c77',
];
const GREY = { light: '#c9ced6', dark: '#4a515c' };

function hash(text: string): number {
	let h = 2166136261;
	for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 16777619);
	return (h ^ (h >>> 15)) >>> 0;
}

const darkness = matchMedia('(prefers-color-scheme: dark)');

export function isDark(): boolean {
	return darkness.matches;
}

/** Draws again when the system changes between dark and light: for canvases. */
export function useDark(): boolean {
	const [dark, setDark] = useState(isDark());
	useEffect(() => {
		const changes = () => setDark(isDark());
		changes(); // since the first drawing it may have changed
		darkness.addEventListener('change', changes);
		return () => darkness.removeEventListener('change', changes);
	}, []);
	return dark;
}

/** Of a module, a call site, a band; '' is what belongs to none. */
export function colourOf(name: string, dark = isDark()): string {
	const palette = dark ? DARK : LIGHT;
	return name ? palette[hash(name) % palette.length]! : dark ? GREY.dark : GREY.light;
}

/**
 * A shade of the colour of `name` for one of its parts, so that neighbours of one module are told
 * apart.
 */
export function shadeOf(name: string, part: string, dark = isDark()): string {
	const colour = colourOf(name, dark);
	const step = ((hash(part) % 5) - 2) * 7;
	const parts = [1, 3, 5].map((i) =>
		Math.max(0, Math.min(255, parseInt(colour.slice(i, i + 2), 16) + step)),
	);
	return `#${parts.map((p) => p.toString(16).padStart(2, '0')).join('')}`;
}

/**
 * Colours for a few names beside each other: each its own if it can be, and no two the same before
 * all are used. '' is grey.
 */
export function bandColours(names: string[], dark = isDark()): string[] {
	const palette = dark ? DARK : LIGHT;
	const used = new Set<number>();
	return names.map((name) => {
		if (!name) return colourOf('', dark);
		let at = hash(name) % palette.length;
		for (let tries = 0; used.has(at) && tries < palette.length; tries++)
			at = (at + 1) % palette.length;
		used.add(at);
		if (used.size === palette.length) used.clear();
		return palette[at]!;
	});
}

/** A value of the style sheet. */
export function styleValue(name: string): string {
	return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
