# The host, and nothing else: no shell, no package manager. See deploy/rootfs.sh for what is in it, compose.yaml for how it is run.
#
#   docker build -t wharf .
#   docker run --rm -p 127.0.0.1:8089:8089 -v ./plugins:/plugins:ro wharf
FROM rust:1.95-slim-bookworm AS build
WORKDIR /src
COPY . .
RUN cargo build --locked --release --package wharf
RUN sh deploy/rootfs.sh target/release/wharf /rootfs

FROM scratch
COPY --from=build /rootfs /
# Again, for its owner: not every builder keeps that.
COPY --from=build --chown=65532:65532 /rootfs/var/cache/wharf /var/cache/wharf
ENV PATH=/usr/bin XDG_CACHE_HOME=/var/cache
USER 65532:65532
VOLUME ["/plugins", "/var/cache/wharf"]
EXPOSE 8089
HEALTHCHECK --interval=30s --timeout=5s --start-period=5s --retries=3 CMD ["/usr/bin/wharf", "health"]
ENTRYPOINT ["/usr/bin/wharf"]
CMD ["serve", "--config", "/etc/wharf/wharf.toml"]
