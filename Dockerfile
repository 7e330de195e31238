# Two stages: build with the same steps as a developer, then a small image without compilers.
FROM debian:12 AS build
WORKDIR /src
COPY tests/packages.txt tests/packages.txt
COPY deploy/install-packages deploy/install-packages
RUN deploy/install-packages build
COPY . .
RUN cmake --preset ship && cmake --build --preset ship --target stationmaster \
    && cmake --install build/ship --prefix /out --strip

FROM debian:12-slim
LABEL org.opencontainers.image.title="stationmaster" \
      org.opencontainers.image.description="LoRaWAN gateway server for LoRa Basics Station" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY tests/packages.txt /tmp/sm/tests/packages.txt
COPY deploy/install-packages /tmp/sm/deploy/install-packages
RUN /tmp/sm/deploy/install-packages run && rm -rf /tmp/sm /var/lib/apt/lists/* \
    && useradd --system --home-dir /var/lib/stationmaster --create-home --shell /usr/sbin/nologin stationmaster
COPY --from=build /out/bin/stationmaster /usr/bin/stationmaster
USER stationmaster
WORKDIR /var/lib/stationmaster
VOLUME /var/lib/stationmaster
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/bin/stationmaster"]
CMD ["serve"]
