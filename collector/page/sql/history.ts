// Statements that were run in this tab, the last one first.
const NAME = 'heapcast-sql-history';
const MOST = 50;

export function history(): string[] {
	try {
		const kept: unknown = JSON.parse(sessionStorage.getItem(NAME) ?? '[]');
		return Array.isArray(kept) ? kept.filter((s) => typeof s === 'string') : [];
	} catch {
		return [];
	}
}

export function remember(statement: string): void {
	const text = statement.trim();
	if (!text) return;
	sessionStorage.setItem(
		NAME,
		JSON.stringify([text, ...history().filter((s) => s !== text)].slice(0, MOST)),
	);
}
