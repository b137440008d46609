"""Named data caches: settings, pools and bindings, with ASE's validation."""

from dataclasses import dataclass, field, replace
from typing import Any, Unpack

from ase_simulator.contracts import CacheChange, ServerError
from ase_simulator.model.workload import DEFAULTS

DEFAULT_CACHE = "default data cache"
PARTITIONS = (1, 2, 4, 8, 16, 32, 64)
_MINIMUM_PAGES = 256


@dataclass(frozen=True, slots=True)
class Pool:
    """One buffer pool of a cache. io_size_kb: size of its buffers; apf_percent: limit for prefetch."""

    io_size_kb: int
    size_kb: int
    wash_kb: int
    apf_percent: int = 10


@dataclass(frozen=True, slots=True)
class Cache:
    """A named cache as it runs at present. strategy: `strict LRU` or `relaxed LRU`; type: as monDataCache.Type says."""

    id: int
    name: str
    size_kb: int
    type: str = "Mixed"
    strategy: str = "strict LRU"
    partitions: int = 1
    pools: dict[int, Pool] = field(default_factory=dict)

    @property
    def lockless(self) -> bool:
        """Buffers are found by compare-and-swap instead of under the cache's spinlocks."""
        return self.type == "Lockless Data Cache"

    @property
    def relaxed(self) -> bool:
        """Buffers keep their place in the chain when they are used."""
        return self.strategy == "relaxed LRU"

    @property
    def apf_share(self) -> float:
        """Part of the disk reads that asynchronous prefetch brings in: through pools of large buffers."""
        return 0.3 if len(self.pools) > 1 else 0.0


class Caches:
    """All caches of a server: as they `run`, what is configured for its next `start`, and the bindings.

    page_kb: logical page size. at_once: partitions, type and strategy change without a restart (a scenario's
    convenience; ASE needs one). default_partitions: of new caches (`global cache partition number`). bindings:
    (database, object or None for all of it) -> cache.
    """

    def __init__(self, page_kb: int, *, at_once: bool = False) -> None:
        self.page_kb = page_kb
        self.default_partitions = 1
        self.run: dict[str, Cache] = {}
        self.start: dict[str, Cache] = {}
        self.bindings: dict[tuple[str, str | None], str] = {}
        self._at_once = at_once
        self._next_id = 0
        self.configure(DEFAULT_CACHE, size_kb=8 * 1024, type="default")

    def all(self) -> list[Cache]:
        """The caches as they run, by id."""
        return list(self.run.values())

    def of(self, database: str, object_name: str) -> str:
        """The cache that an object's pages go to: its own binding, its database's, or the default."""
        for key in ((database, object_name), (database, None)):
            if key in self.bindings:
                return self.bindings[key]
        return DEFAULT_CACHE

    def total_kb(self) -> int:
        return sum(cache.size_kb for cache in self.start.values())

    def configure(self, name: str, **change: Unpack[CacheChange]) -> None:
        """sp_cacheconfig: size and new caches are dynamic; type, strategy and partitions static."""
        if change.get("size_kb") == 0:
            self._drop(name)
            return
        before = self.start.get(name)
        if before is None:
            if change.get("size_kb") is None:
                raise ServerError(18037, f"The cache '{name}' does not exist.")
            before = Cache(self._next_id, name, 0, partitions=self.default_partitions)
            self._next_id += 1
        settings = {key: self._checked(key, value) for key, value in change.items() if value is not None}
        after: Cache = replace(before, **settings)
        self.start[name] = after = replace(after, pools=self._fitted(after))
        if self._at_once or name not in self.run:
            self.run[name] = after
        else:
            self.run[name] = replace(self.run[name], size_kb=after.size_kb, pools=after.pools)

    def configure_pool(self, name: str, io_size_kb: int, size_kb: int) -> None:
        """sp_poolconfig: memory moves between this pool and the one of the logical page size."""
        cache = self._known_cache(name)
        if io_size_kb not in {self.page_kb * 2**power for power in range(4)} or io_size_kb == self.page_kb:
            raise ServerError(18135, f"Invalid buffer size '{io_size_kb}K' for a pool of cache '{name}'.")
        others = sum(p.size_kb for k, p in cache.pools.items() if k not in (io_size_kb, self.page_kb))
        if size_kb < 0 or cache.size_kb - others - size_kb < 512:
            raise ServerError(
                18136, f"The cache '{name}' has not enough memory in its {self.page_kb}K pool for the pool."
            )
        pools = {k: p for k, p in cache.pools.items() if k != io_size_kb}
        if size_kb:
            pools[io_size_kb] = Pool(io_size_kb, size_kb, size_kb // 5)
        for known in (self.run, self.start):
            changed = replace(known[name], pools=pools)
            known[name] = replace(changed, pools=self._fitted(changed))

    def bind(self, cache: str | None, database: str, object_name: str | None = None) -> None:
        """sp_bindcache; with cache None sp_unbindcache."""
        if cache is None:
            self.bindings.pop((database, object_name), None)
            return
        self._known_cache(cache)
        self.bindings[database, object_name] = cache

    def restart(self) -> None:
        self.run = dict(self.start)

    def _known_cache(self, name: str) -> Cache:
        if name not in self.start:
            raise ServerError(18037, f"The cache '{name}' does not exist.")
        return self.start[name]

    def _checked(self, setting: str, value: Any) -> Any:
        """The value of a setting as it is kept; raises ServerError."""
        if setting == "type":
            return _known(value, DEFAULTS["cache_types"], "cache type")
        if setting == "strategy":
            return _known(value, DEFAULTS["cache_strategies"], "replacement")
        minimum = _MINIMUM_PAGES * self.page_kb
        if setting == "size_kb" and value < minimum:
            raise ServerError(18133, f"The specified size is less than the minimum size of {minimum}K.")
        if setting == "partitions" and value not in PARTITIONS:
            raise ServerError(18144, f"Invalid number of cache partitions {value}: a power of 2 up to 64.")
        return value

    def _drop(self, name: str) -> None:
        if name == DEFAULT_CACHE:
            raise ServerError(18138, "The default data cache cannot be deleted.")
        self._known_cache(name)
        if name in self.bindings.values():
            raise ServerError(18139, f"The cache '{name}' cannot be deleted: objects are bound to it.")
        del self.start[name]
        del self.run[name]

    def _fitted(self, cache: Cache) -> dict[int, Pool]:
        """Give the remaining memory to the pool of the page size."""
        large = {k: p for k, p in cache.pools.items() if k != self.page_kb}
        left = cache.size_kb - sum(pool.size_kb for pool in large.values())
        wash = min(left // 5, 60 * 1024)
        return dict(sorted({self.page_kb: Pool(self.page_kb, left, wash), **large}.items()))


def _known(word: str, known: dict[str, str], what: str) -> str:
    if word.lower() not in known:
        raise ServerError(18132, f"Invalid {what} '{word}': expected one of {', '.join(known)}.")
    return known[word.lower()]
