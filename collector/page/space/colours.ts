// From hardly used, which is what holds memory back, to full; people who do not see red or green
// tell orange from blue.
import { isDark, styleValue } from '../base/colours';

const LIGHT = [
	'#c2571a',
	'#cf7a35',
	'#d99a58',
	'#dfb67f',
	'#dfcaa6',
	'#c3cdd3',
	'#a3bfd3',
	'#82a8c8',
	'#6190b8',
	'#4878a8',
];
const DARK = [
	'#e58a50',
	'#c97a48',
	'#a96d45',
	'#8c6244',
	'#725b47',
	'#4f5a66',
	'#46627c',
	'#45709a',
	'#4a7fb3',
	'#5b93cf',
];

export const STEPS = LIGHT.length;

export function fillColour(fill: number, dark = isDark()): string {
	if (fill <= 0) return styleValue('line');
	return (dark ? DARK : LIGHT)[Math.min(STEPS - 1, Math.floor(fill * STEPS))]!;
}

export function stepColour(step: number, dark = isDark()): string {
	return (dark ? DARK : LIGHT)[step]!;
}
